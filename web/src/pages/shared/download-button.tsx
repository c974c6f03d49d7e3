import { type ReactNode, useState } from 'react';
import { download, type Unprintable } from '../../api/download.ts';
import { explain } from '../../api/explain.ts';
import { t, tValue } from '../../i18n/index.ts';
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

/** Downloads the file at a path of the API. If this fails, or a PDF lacks characters, shows the reason. */
export async function downloadOrSay(path: string, body?: object): Promise<void> {
  try {
    const unprintable = await download(path, body);
    if (unprintable) toast({ tone: 'bad', text: describeUnprintable(unprintable), seconds: 20 });
  } catch (error) {
    toast({ tone: 'bad', text: explain(error) });
  }
}

const MAX_CHARACTERS = 5;

function describeUnprintable({ characters, fields }: Unprintable): string {
  const named = characters
    .slice(0, MAX_CHARACTERS)
    .map((name) => `${String.fromCodePoint(Number.parseInt(name.slice(2), 16))} (${name})`);
  if (characters.length > MAX_CHARACTERS) named.push('…');
  return t('download.unprintable', {
    characters: named.join(', '),
    fields: fields.map((field) => tValue('printedField', field)).join(', '),
  });
}
