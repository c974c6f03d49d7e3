import { join } from 'node:path';
import { NodeCompiler } from '@myriaddreamin/typst-ts-node-compiler';
import type { PrintAnswer, PrintOrder } from './print-queue.ts';

/**
 * The program of the print process: one typst compiler that turns data into PDF, an order at a time. The
 * data goes in as JSON and stands in the document as plain strings, so nothing in it can be an instruction.
 */

const TEMPLATES = join(import.meta.dirname, '..', '..', '..', 'templates');
const FONTS = join(import.meta.dirname, '..', '..', '..', 'fonts');
/** Results of typst's own cache that this many later documents did not use are forgotten. */
const CACHE_AGE = 3;

// Typst looks through these before the system's fonts, and the template allows no family but these.
const compiler = NodeCompiler.create({ workspace: TEMPLATES, fontArgs: [{ fontPaths: [FONTS] }] });

process.on('message', (order: PrintOrder) => {
  process.send?.(print(order));
});
process.on('disconnect', () => process.exit());
// A signal to the whole group is for the service: it first finishes what it has begun, then ends this.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});

function print({ id, template, data, files }: PrintOrder): PrintAnswer {
  try {
    for (const { name, bytes } of files) compiler.mapShadow(join(TEMPLATES, name), Buffer.from(bytes));
    return { id, pdf: compiler.pdf({ mainFilePath: join(TEMPLATES, template), inputs: { data } }) };
  } catch (error) {
    return { id, failure: explain(error) };
  } finally {
    compiler.evictCache(CACHE_AGE);
  }
}

/** The compiler throws errors whose text stands in `code`. */
function explain(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return [message, code].filter((part) => typeof part === 'string' && part !== '').join(' ');
}
