import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import { explain } from '../../api/explain.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';

interface LatestVersionProps<Data> {
  /** The title of the dialog while it loads. */
  title: string;
  /** One call of `client.GET`. */
  read(): Promise<{ data?: { data: Data }; error?: unknown; response: Response }>;
  onClose(): void;
  /** The dialog with the form. It sends the ETag as `If-Match`. */
  children(data: Data, etag: string): ReactNode;
}

/**
 * Reads the data of a form once, when the form opens. If somebody else changes the data while the form is open, the fields and
 * the ETag stay as they were read, and the service refuses the form.
 */
export function LatestVersion<Data>({ title, read, onClose, children }: LatestVersionProps<Data>) {
  const key = useId();
  const query = useQuery({
    queryKey: ['latest', key],
    queryFn: async () => {
      const { data, error, response } = await read();
      if (!data) throw error;
      return { data: data.data, etag: response.headers.get('etag') ?? '' };
    },
    staleTime: 'static',
    gcTime: 0,
  });
  if (query.data) return children(query.data.data, query.data.etag);
  return (
    <Dialog title={title} onClose={onClose}>
      <Loaded query={query} explain={explain} skeleton={<Skeleton lines={5} />}>
        {() => null}
      </Loaded>
    </Dialog>
  );
}
