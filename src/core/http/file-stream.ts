import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Snapshot } from '../database/replica.ts';
import { setSnapshotAge } from './snapshot-age.ts';

interface StreamedFile {
  name: string;
  /** The media type. */
  type: string;
  /** Not called for HEAD. */
  open(): Promise<Snapshot<Readable>>;
}

/** Streams a file from one snapshot of the database. If reading fails after the first bytes, resets the connection. */
export async function sendFileStream(
  request: FastifyRequest,
  reply: FastifyReply,
  { name, type, open }: StreamedFile,
): Promise<FastifyReply> {
  const { value: bytes, takenAtMs } =
    request.method === 'HEAD' ? { value: Readable.from([]), takenAtMs: performance.now() } : await open();
  setSnapshotAge(reply, takenAtMs);
  // Every client recognizes a reset as a failure. An HTTP/1.0 client, such as a proxy, would treat a normal close of the connection
  // as the end of the file.
  bytes.once('error', () => request.raw.socket.resetAndDestroy());
  return reply.type(type).header('content-disposition', `attachment; filename="${name}"`).send(bytes);
}
