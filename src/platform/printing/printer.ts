import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import type { FastifyReply } from 'fastify';
import { ConfigError } from '../../core/config-error.ts';
import type { Config } from '../../core/context.ts';
import type { Language } from '../../core/http/fields.ts';
import { PACKAGE_ROOT } from '../../core/package-root.ts';
import type { TimeLimits } from '../../core/time-limits.ts';
import { fontCharacters, replaceUnprintable, type Unprintable } from './font-characters.ts';
import { PrintError } from './print-process.ts';
import { createPrintQueue } from './print-queue.ts';

const PROGRAM = join(import.meta.dirname, `print-program${extname(import.meta.filename)}`);
const LIMITS = { maxPerCaller: 20, maxWaiting: 100, idleMs: 60_000 };
export const FONTS = join(PACKAGE_ROOT, 'fonts');
/** The template that all other templates import. */
const COMMON = 'common.typ';

/** The sender of a document. */
interface Company {
  name: string;
  address: string[];
  /** The name of a file beside the template. */
  logo: string | null;
}

/** What every document contains. Each kind of document adds its own data, as text. The same data always gives the same bytes. */
export interface PrintedDocument {
  /** Default: English. */
  language?: Language;
  company: Company;
}

/** A document as it is printed: substitutes replace what no font has. */
export interface PreparedDocument {
  document: PrintedDocument;
  unprintable: Unprintable;
}

/** Files in templates/. */
type Template = 'invoice.typ' | 'receipt.typ' | 'statement.typ';

export interface Printer {
  readonly company: Company;
  /** The number that customers pay to; null if none is configured. */
  readonly paybill: string | null;
  /** The ETag of the document that `print` would return, without printing. */
  etagOf(template: Template, document: PrintedDocument): string;
  prepare(document: PrintedDocument): PreparedDocument;
  /** @throws the errors of `PrintQueue.print`. */
  print(caller: string, template: Template, prepared: PreparedDocument): Promise<Buffer>;
  /** @throws ConfigError if the logo cannot be printed. */
  checkLogo(): Promise<void>;
  close(): void;
}

/** The header `unprintable-characters` lists no further code points. */
const MAX_NAMED = 20;

/** Names what the answer's document cannot show, in a header (a dictionary of RFC 9651). */
export function nameUnprintable(reply: FastifyReply, { count, codePoints, fields }: Unprintable): void {
  if (count === 0) return;
  const characters = [...codePoints].slice(0, MAX_NAMED).map(codePointName);
  reply.header(
    'unprintable-characters',
    `count=${count}, characters=(${characters.join(' ')}), fields=(${[...fields].join(' ')})`,
  );
}

/** For example U+6F22. */
const codePointName = (codePoint: number) => `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;

/** The time limit for the answer of a route that prints. */
export function printedAnswerMs({ printSlotMs, printMs }: TimeLimits): number {
  return printSlotMs + printMs + 1_000;
}

/** Prints documents of the company as PDF. The first document starts the print process. */
export function createPrinter(config: Config): Printer {
  const { companyLogo } = config;
  const files = companyLogo ? [{ name: `logo.${companyLogo.format}`, bytes: companyLogo.bytes }] : [];
  const company: Company = {
    name: config.COMPANY_NAME,
    address: config.COMPANY_ADDRESS.split('|').map((line) => line.trim()),
    logo: files[0]?.name ?? null,
  };
  const queue = createPrintQueue({
    program: PROGRAM,
    ...LIMITS,
    waitMs: config.limits.printSlotMs,
    timeoutMs: config.limits.printMs,
  });
  const versions: Partial<Record<Template, string>> = {};
  const versionOf = (template: Template) =>
    (versions[template] ??= printerVersion(template, companyLogo?.bytes));
  const characters = fontCharacters(regularFonts());

  const prepare = (document: PrintedDocument) => replaceUnprintable(characters, document);

  function render(caller: string, template: string, { document }: PreparedDocument): Promise<Buffer> {
    return queue.print(caller, { template, data: JSON.stringify(document), files });
  }

  async function checkLogo(): Promise<void> {
    try {
      await render('start', 'blank.typ', prepare({ company }));
    } catch (error) {
      if (!(error instanceof PrintError)) throw error;
      throw new ConfigError([`COMPANY_LOGO cannot be printed: ${error.message}`]);
    }
  }

  return {
    company,
    paybill: config.paybillNumbers[0] ?? null,
    etagOf: (template, document) => `"${sha256(versionOf(template), JSON.stringify(document)).slice(0, 32)}"`,
    prepare,
    print: render,
    checkLogo,
    close: queue.close,
  };
}

function compilerVersion(): string {
  const file = createRequire(import.meta.url).resolve('@myriaddreamin/typst-ts-node-compiler/package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** Includes the length of each part, so that different lists of parts have different hashes. */
function sha256(...parts: (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('hex');
}

/** Changes with the template, fonts, logo and compiler: everything that affects a document except its data. */
function printerVersion(template: Template, logo: Buffer | undefined): string {
  return sha256(
    readFileSync(join(PACKAGE_ROOT, 'templates', COMMON)),
    readFileSync(join(PACKAGE_ROOT, 'templates', template)),
    hashOfFonts(),
    compilerVersion(),
    logo ?? '',
  );
}

let fontsHash: string | undefined;

/** Reads the fonts once, for the first document: a start need not wait for them. */
function hashOfFonts(): string {
  fontsHash ??= sha256(...fontFiles().map((file) => readFileSync(file)));
  return fontsHash;
}

function fontFiles(): string[] {
  return readdirSync(FONTS)
    .sort()
    .map((file) => join(FONTS, file));
}

/** Noto Sans, which most texts need, is the first. The bold fonts have the same characters. */
export function regularFonts(): string[] {
  return fontFiles().filter((file) => file.endsWith('-Regular.ttf'));
}
