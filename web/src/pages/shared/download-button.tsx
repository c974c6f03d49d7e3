import { type ReactNode, useState } from 'react';
import { download } from '../../api/download.ts';
import { explain } from '../../api/explain.ts';
import { Button } from '../../ui/button.tsx';
import { toast } from '../../ui/toast.tsx';

/** A button that downloads the file at a path of the API. */
export function DownloadButton({ path, children }: { path: string; children: ReactNode }) {
  const [isBusy, setIsBusy] = useState(false);
  return (
    <Button
      icon="download"
      isBusy={isBusy}
      onClick={async () => {
        setIsBusy(true);
        await downloadOrSay(path);
        setIsBusy(false);
      }}
    >
      {children}
    </Button>
  );
}

/** Downloads the file at a path of the API. If this fails, shows the reason. */
export async function downloadOrSay(path: string): Promise<void> {
  await download(path).catch((error: unknown) => toast({ tone: 'bad', text: explain(error) }));
}
