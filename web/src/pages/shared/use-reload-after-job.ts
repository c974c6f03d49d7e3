import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';

/** Reads all queries of the page again when a job has ended, because the job may have changed their rows. */
export function useReloadAfterJob(isRunning: boolean): void {
  const queries = useQueryClient();
  const wasRunning = useRef(isRunning);
  useEffect(() => {
    if (wasRunning.current && !isRunning) void queries.invalidateQueries();
    wasRunning.current = isRunning;
  }, [isRunning, queries]);
}
