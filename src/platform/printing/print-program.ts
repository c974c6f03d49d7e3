import { join } from 'node:path';
import { NodeCompiler } from '@myriaddreamin/typst-ts-node-compiler';
import { PACKAGE_ROOT } from '../../core/package-root.ts';
import type { PrintAnswer, PrintOrder } from './print-process.ts';

/**
 * The program of the print process: a typst compiler that turns data into PDF, one order at a time. The data is JSON and becomes
 * plain strings in the document, so it cannot contain instructions.
 */

const TEMPLATES = join(PACKAGE_ROOT, 'templates');
const FONTS = join(PACKAGE_ROOT, 'fonts');
/**
 * Typst caches intermediate results of a document for later documents. It drops a result that this many documents in a row have
 * not used.
 */
const CACHE_AGE = 3;

// Typst prefers the fonts in FONTS to the fonts of the system, and the templates use only the fonts in FONTS.
const compiler = NodeCompiler.create({ workspace: TEMPLATES, fontArgs: [{ fontPaths: [FONTS] }] });

process.on('message', (order: PrintOrder) => {
  process.send?.(print(order));
});
process.on('disconnect', () => process.exit());
// Ctrl-C also sends SIGINT to this process, and a service manager can send it SIGTERM. This process ignores both signals, because
// running requests may need it. The service ends it after these requests.
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

/** The compiler puts the text of its errors in `code`. */
function explain(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return [message, code].filter((part) => typeof part === 'string' && part !== '').join(' ');
}
