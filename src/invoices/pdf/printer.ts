import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { formatAccountNumber } from '../../accounts/account-number.ts';
import { type Config, ConfigError } from '../../config.ts';
import type { Currency } from '../../core/context.ts';
import { businessDay } from '../../core/dates.ts';
import { printedAmount, printedQuantity } from '../rules.ts';
import type { InvoiceWithItems } from '../store.ts';
import { createPrintQueue, PrintError } from './print-queue.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PROGRAM = join(import.meta.dirname, `print-process${extname(import.meta.filename)}`);
const LIMITS = { maxWaiting: 50, timeoutMs: 10_000, idleMs: 60_000 };

/** All that stands in the document, as text, and nothing else: equal data prints equal bytes. */
interface InvoiceDocument {
  number: string;
  /** YYYY-MM-DD: the date of the PDF. */
  issuedOn: string;
  voidedOn: string | null;
  customer: { name: string; phone: string };
  accountNumber: string;
  currency: string;
  items: { description: string; quantity: string; unitPrice: string; lineTotal: string }[];
  total: string;
  company: { name: string; address: string[]; logo: string | null };
  paybill: string | null;
}

export interface InvoicePrinter {
  documentOf(found: InvoiceWithItems): InvoiceDocument;
  /** Names the bytes that `renderInvoicePdf` would give, without rendering them. */
  etagOf(document: InvoiceDocument): string;
  /** @throws AppError 503 when too many documents wait or the process fails. */
  renderInvoicePdf(document: InvoiceDocument): Promise<Buffer>;
  /** @throws ConfigError for a logo that cannot be printed. */
  checkLogo(): Promise<void>;
  close(): void;
}

/** Prints invoices as PDF for one company; starts nothing before the first. */
export function createInvoicePrinter(config: Config, currency: Currency): InvoicePrinter {
  const { companyLogo } = config;
  const files = companyLogo ? [{ name: `logo.${companyLogo.format}`, bytes: companyLogo.bytes }] : [];
  const company = {
    name: config.COMPANY_NAME,
    address: config.COMPANY_ADDRESS.split('|').map((line) => line.trim()),
    logo: files[0]?.name ?? null,
  };
  const paybill = config.paybillNumbers[0] ?? null;
  const queue = createPrintQueue({ program: PROGRAM, ...LIMITS });
  const version = printerVersion(companyLogo?.bytes);

  function documentOf({ invoice, items }: InvoiceWithItems): InvoiceDocument {
    const amount = (minor: number) => printedAmount(BigInt(minor), currency.decimals);
    return {
      number: invoice.number,
      issuedOn: invoice.issued_on,
      voidedOn: invoice.voided_at && businessDay(invoice.voided_at, config.BUSINESS_TIMEZONE),
      customer: { name: invoice.customer_name, phone: invoice.customer_phone },
      accountNumber: formatAccountNumber(invoice.account_id),
      currency: currency.code,
      items: items.map((item) => ({
        description: item.description,
        quantity: printedQuantity(BigInt(item.quantity_milli)),
        unitPrice: amount(item.unit_price_minor),
        lineTotal: amount(item.line_total_minor),
      })),
      total: amount(invoice.total_minor),
      company,
      paybill,
    };
  }

  function renderInvoicePdf(document: InvoiceDocument): Promise<Buffer> {
    return queue.print({ data: JSON.stringify(document), files });
  }

  async function checkLogo(): Promise<void> {
    try {
      await renderInvoicePdf({ ...BLANK, company });
    } catch (error) {
      if (!(error instanceof PrintError)) throw error;
      throw new ConfigError([`COMPANY_LOGO cannot be printed: ${error.message}`]);
    }
  }

  return {
    documentOf,
    etagOf: (document) => `"${sha256(version, JSON.stringify(document)).slice(0, 32)}"`,
    renderInvoicePdf,
    checkLogo,
    close: queue.close,
  };
}

const BLANK: Omit<InvoiceDocument, 'company'> = {
  number: '',
  issuedOn: '2000-01-01',
  voidedOn: null,
  customer: { name: '', phone: '' },
  accountNumber: '',
  currency: '',
  items: [],
  total: '',
  paybill: null,
};

function compilerVersion(): string {
  const file = createRequire(import.meta.url).resolve('@myriaddreamin/typst-ts-node-compiler/package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** Each part's length goes in too, so that no two lists of parts look alike. */
function sha256(...parts: (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('hex');
}

/** Changes with everything but the data that decides how a document looks. */
function printerVersion(logo: Buffer | undefined): string {
  const fonts = readdirSync(join(ROOT, 'fonts')).sort();
  return sha256(
    readFileSync(join(ROOT, 'templates', 'invoice.typ')),
    ...fonts.map((file) => readFileSync(join(ROOT, 'fonts', file))),
    compilerVersion(),
    logo ?? '',
  );
}
