import { useSyncExternalStore } from 'react';
import { connection, onConnectionChange } from '../../api/connection.ts';

/** Whether requests wait for the network or for a busy service. */
export function useIsWaiting(): boolean {
  return useSyncExternalStore(onConnectionChange, connection) !== 'ok';
}
