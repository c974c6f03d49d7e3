import { type ReactNode, useRef, useState } from 'react';
import { t } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { useConnection } from './use-connection.ts';

/** Matches the names of spreadsheet files that the service cannot read. */
export const SPREADSHEET = /\.(xls|ods|numbers)$/i;

/** The Content-Type of a file that the service reads. */
export function contentTypeOf(fileName: string): string {
  return /\.xlsx$/i.test(fileName)
    ? 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
    : 'text/csv';
}

/** The file that is being sent. */
export interface Sending {
  name: string;
  /** The part that was sent, from 0 to 1. */
  share: number;
  controller: AbortController;
}

interface DropBoxProps {
  label: string;
  isMultiple?: boolean;
  onFiles(files: readonly File[]): void;
  sending: Sending | undefined;
  statusOf(sending: Sending): string;
  /** Shown while the connection is lost or the service is busy, below a title that names the reason. */
  waiting: string;
  /** The text of the button that stops the upload. */
  stop: string;
  /** The content while no file is being sent. @param choose - opens the dialog in which the user chooses files. */
  children(choose: () => void): ReactNode;
}

/** A box for CSV files and workbooks, which the user drops or chooses. Shows how much of a file was sent. */
export function DropBox(props: DropBoxProps) {
  const { label, isMultiple = false, onFiles, sending, statusOf, waiting, stop, children } = props;
  const connection = useConnection();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setIsOver] = useState(false);
  return (
    <section
      className={`drop ${isOver ? 'over' : ''}`}
      aria-label={label}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        onFiles([...event.dataTransfer.files]);
      }}
    >
      {sending ? (
        <>
          <p role="status">{statusOf(sending)}</p>
          <progress className="progress" value={sending.share} aria-label={sending.name} />
          {connection !== 'ok' && (
            <Notice tone="warning" title={t(`connection.${connection}`)}>
              {waiting}
            </Notice>
          )}
          <Button onClick={() => sending.controller.abort()}>{stop}</Button>
        </>
      ) : (
        <>
          <input
            ref={input}
            type="file"
            hidden
            multiple={isMultiple}
            accept=".csv,.txt,.xlsx,text/csv"
            onChange={({ target }) => {
              onFiles([...(target.files ?? [])]);
              target.value = ''; // So that the same file can be chosen again.
            }}
          />
          {children(() => input.current?.click())}
        </>
      )}
    </section>
  );
}
