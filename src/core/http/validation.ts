import { Ajv, type ErrorObject, str, type ValidateFunction } from 'ajv';
import { type Context, type Currency, today } from '../context.ts';
import { hasVisible } from '../values/case-folding.ts';
import { compareDates, EARLIEST_ENTRY, parsePlainDate, parseTimestamp } from '../values/dates.ts';
import { isEmail } from '../values/email.ts';
import { maxAmountMinor, maxAmountText, minorFromNumber } from '../values/money.ts';
import { isE164, readChangedPhone, readPhone } from '../values/phone.ts';
import { classifySpreadsheetChange } from '../values/spreadsheet-change.ts';
import { isVisibleId, isVisibleText } from '../values/text.ts';
import { type AppError, type FieldProblem, invalid, invalidField, MAX_PROBLEMS } from './errors.ts';

/**
 * Validation of requests. Bodies are validated unchanged: no value is coerced, added or removed. Path and query values are text, so
 * `readText` first converts numbers, `true` and `false`.
 */

interface TextFormat {
  check(text: string): boolean;
  /** The text after the name of the field in an error. */
  rule: string;
}

/** The data that validation depends on: settings, currency, and the clock for the business day. */
export type BusinessSettings = Pick<Context, 'config' | 'currency' | 'clock'>;

const NO_SPREADSHEET_CHANGE =
  'must not be a number that a spreadsheet or a program has changed, such as 12345678.0 or 7.1E8: send all digits, without decimals, as text';

const TEXT_FORMATS = {
  text: {
    check: isVisibleText,
    rule: 'must be text with at least one visible character and no control characters',
  },
  identifier: {
    check: (text) => isVisibleText(text) && /[\p{L}\p{N}]/u.test(text),
    rule: 'must be text with at least one letter or digit',
  },
  'external-id': {
    check: isVisibleId,
    rule: 'must be text with at least one visible character and no invisible ones',
  },
} satisfies Record<string, TextFormat>;

/** The format of an id that is new. Earlier versions stored numbers that a spreadsheet had changed, and these ids stay valid. */
function refusingSpreadsheetChanges({ check, rule }: TextFormat): TextFormat {
  return {
    check: (text) => check(text) && classifySpreadsheetChange(text) === undefined,
    rule: `${rule}, and ${NO_SPREADSHEET_CHANGE}`,
  };
}

export const FORMATS: Record<string, TextFormat> = {
  ...TEXT_FORMATS,
  reference: refusingSpreadsheetChanges(TEXT_FORMATS.text),
  'new-identifier': refusingSpreadsheetChanges(TEXT_FORMATS.identifier),
  'new-external-id': refusingSpreadsheetChanges(TEXT_FORMATS['external-id']),
  paragraph: {
    check: (text) => !/[^\P{Cc}\n\t]/u.test(text) && text.isWellFormed(),
    rule: 'must be text without control characters other than line breaks and tabs',
  },
  note: {
    check: (text) => hasVisible(text) && !/[^\P{Cc}\n\t]|\p{Bidi_Control}/u.test(text) && text.isWellFormed(),
    rule:
      'must be text with at least one visible character, without control characters other than line breaks and tabs, and without ' +
      'characters that change the direction of text',
  },
  'query-text': {
    check: (text) => !/\p{Cc}/u.test(text) && text.isWellFormed(),
    rule: 'must be text without control characters',
  },
  'calendar-date': {
    check: (text) => parsePlainDate(text) !== undefined,
    rule: 'must be a calendar date as YYYY-MM-DD, from 1900 to 2999',
  },
  'entry-date': {
    check: isEntryDate,
    rule: `must be a calendar date as YYYY-MM-DD, from ${EARLIEST_ENTRY} to 2999-12-31`,
  },
  'calendar-month': {
    check: (text) => /^\d{4}-\d{2}$/.test(text) && parsePlainDate(`${text}-01`) !== undefined,
    rule: 'must be a month as YYYY-MM, from 1900 to 2999',
  },
  'entry-month': {
    check: (text) => /^\d{4}-\d{2}$/.test(text) && isEntryDate(`${text}-01`),
    rule: 'must be a month as YYYY-MM, from 2000 to 2999',
  },
  'date-time': {
    check: (text) => parseTimestamp(text) !== undefined,
    rule: 'must be an ISO 8601 timestamp with a zone',
  },
  'mail-address': {
    check: isEmail,
    rule:
      'must be an e-mail address such as name@example.com, without full-width or other look-alike letters, and with ' +
      'a domain in ASCII (an international domain as xn--…)',
  },
};

function isEntryDate(text: string): boolean {
  const date = parsePlainDate(text);
  return date !== undefined && date >= EARLIEST_ENTRY;
}

const COUNTRY_NAMES = new Intl.DisplayNames('en', { type: 'region' });

function phoneRule(region: string): string {
  return `must be a phone number of ${COUNTRY_NAMES.of(region)}, or + followed by the 8 to 15 digits of a number of another country`;
}

/**
 * The phone number of a change, in E.164, or the stored number.
 * @param path - the field of the request that contains the number.
 * @throws AppError VALIDATION_ERROR if the text is neither a phone number nor the stored number.
 */
export function requireChangedPhone(
  text: string,
  stored: string | null,
  region: string,
  path = 'phone',
): string {
  const phone = readChangedPhone(text, stored, region);
  if (phone === undefined) throw invalidField(path, phoneRule(region));
  return phone;
}

/**
 * Refuses an id that a spreadsheet has changed, unless it is the stored id, which an earlier version may have accepted.
 * @param stored - null for a new resource.
 * @throws AppError VALIDATION_ERROR.
 */
export function refuseSpreadsheetChange(
  field: string,
  id: string | null | undefined,
  stored: string | null,
): void {
  const isNew = typeof id === 'string' && id.trim() !== stored;
  if (isNew && classifySpreadsheetChange(id)) throw invalidField(field, NO_SPREADSHEET_CHANGE);
}

function businessFormats(business: BusinessSettings): Record<string, TextFormat> {
  const { PHONE_REGION } = business.config;
  return {
    phone: {
      check: (text) => readPhone(text, PHONE_REGION) !== undefined,
      rule: phoneRule(PHONE_REGION),
    },
    // The stored number is not known here, so `requireChangedPhone` also checks the text.
    'changed-phone': {
      check: (text) => isE164(text.trim()) || readPhone(text, PHONE_REGION) !== undefined,
      rule: phoneRule(PHONE_REGION),
    },
    'past-date': {
      check: (text) => {
        const date = parsePlainDate(text);
        return date !== undefined && isEntryDate(date) && compareDates(date, today(business)) <= 0;
      },
      rule: `must be a calendar date as YYYY-MM-DD, from ${EARLIEST_ENTRY}, and not later than today`,
    },
  };
}

/**
 * A query schema can have a parser under this symbol. The handler then receives the parsed value. The parser also runs on a query
 * that the schema refuses, so that the answer names all problems at once. The parser must ignore values of the wrong type.
 */
export const PARSE = Symbol('parse');

type Parser = (
  query: Record<string, unknown>,
  business: BusinessSettings,
) => { value: unknown; problems: FieldProblem[] };

/** The names of all formats. Serializers need them, but do not validate. */
export const FORMAT_NAMES = [...Object.keys(FORMATS), 'phone', 'changed-phone', 'past-date'];

function newAjv(business: BusinessSettings, formats: Record<string, TextFormat>): Ajv {
  const { currency } = business;
  const ajv = new Ajv({
    allErrors: true,
    coerceTypes: false,
    strictNumbers: true, // refuses 1e309, which is valid JSON but not a finite number
    removeAdditional: false,
    useDefaults: false,
    strict: false, // schemas contain OpenAPI keywords such as `example`
    validateSchema: false, // The tests check the schemas. Compiling the schema of schemas would delay the first request.
    code: { optimize: false }, // Optimizing takes half of the time of compiling, and V8 gains nothing from it.
    verbose: true, // error messages list the allowed names and values
    formats: Object.fromEntries(Object.entries(formats).map(([name, { check }]) => [name, check])),
  });
  ajv.addKeyword({
    keyword: 'x-amount',
    type: 'number',
    validate: (_schema: unknown, value: number) => fitsCurrency(value, currency),
    error: { message: amountRule(currency) },
  });
  ajv.addKeyword({
    keyword: 'x-decimals',
    type: 'number',
    validate: (decimals: number, value: number) => minorFromNumber(value, decimals) !== undefined,
    error: { message: ({ schema }) => str`must have no more than ${schema} decimals` },
  });
  ajv.addKeyword({
    keyword: 'x-choices',
    type: 'string',
    validate: (values: string[], text: string) =>
      text.split(',').every((value) => values.includes(value.trim())),
    error: { message: ({ schema }) => `must be one or more of ${schema.join(', ')}, separated by commas` },
  });
  return ajv;
}

function fitsCurrency(value: number, { decimals }: Currency): boolean {
  const minor = minorFromNumber(value, decimals);
  return minor !== undefined && minor <= maxAmountMinor(decimals);
}

export function amountRule({ code, decimals }: Currency): string {
  return `must be at most ${maxAmountText(decimals)}, with no more than ${decimals} decimals (${code})`;
}

export function createValidatorCompiler(business: BusinessSettings) {
  const formats = { ...FORMATS, ...businessFormats(business) };
  const ajv = newAjv(business, formats);
  // `/api` and `/api/v1` share the schema of a route, so they also share the checker, which is compiled at the first request.
  const known = { body: new Map<unknown, Checker>(), urlPart: new Map<unknown, Checker>() };
  return ({ schema, httpPart }: { schema: unknown; httpPart?: string }) => {
    const isBody = httpPart === 'body';
    const checkers = isBody ? known.body : known.urlPart;
    let check = checkers.get(schema);
    if (!check) {
      const compile = () => ajv.compile(countedFirst(closed(schema)));
      const { [PARSE]: parse } = schema as { [PARSE]?: Parser };
      check = isBody
        ? createChecker(compile, (value) => value ?? {}, formats)
        : createChecker(
            compile,
            (value) => readText(value, schema as JsonSchema),
            formats,
            parse && ((value) => parse(value as Record<string, unknown>, business)),
          );
      checkers.set(schema, check);
    }
    return check;
  };
}

/** A part of a request as the handler receives it, or an error that names all its problems. */
export type Checked = { value: unknown } | { error: AppError };

type Checker = (given: unknown) => Checked;

function createChecker(
  compile: () => ValidateFunction,
  read: (value: unknown) => unknown,
  formats: Record<string, TextFormat>,
  parse: (value: unknown) => ReturnType<Parser> = (value) => ({ value, problems: [] }),
): Checker {
  let validate: ValidateFunction | undefined;
  return (given) => {
    const input = read(given);
    validate ??= compile();
    const refused = validate(input) ? [] : problemsOf(validate.errors ?? [], formats);
    const named = new Set(refused.map(({ path }) => path));
    const { value, problems } = parse(input);
    const all = [...refused, ...problems.filter(({ path }) => !named.has(path))];
    return all.length === 0 ? { value } : { error: invalid(all) };
  };
}

type JsonSchema = {
  type?: unknown;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  [key: string]: unknown;
};

/**
 * Sets `additionalProperties: false` in objects that do not set it, at all depths of `properties` and `items`, not in `anyOf`.
 */
export function closed(schema: unknown): JsonSchema {
  const { properties, items, ...rest } = schema as JsonSchema;
  return {
    ...rest,
    ...(rest.type === 'object' && rest.additionalProperties === undefined && { additionalProperties: false }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([k, v]) => [k, closed(v)])),
    }),
    ...(items && { items: closed(items) }),
  };
}

/** If a schema has 5 keys and an object has more than 25, the error gives the allowed number of keys, not the unknown keys. */
const MAX_UNKNOWN_KEYS = 20;

/**
 * Checks the number of keys and items before their names and values. Ajv collects every problem, so a body with very many problems
 * would block the process for seconds.
 */
function countedFirst(schema: JsonSchema): JsonSchema {
  const { properties, items, anyOf, ...rest } = schema;
  const checked = {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([k, v]) => [k, countedFirst(v)])),
    }),
    ...(items && { items: countedFirst(items) }),
    ...(anyOf && { anyOf: anyOf.map(countedFirst) }),
  };
  const { maxProperties, maxItems, additionalProperties } = schema;
  if (maxProperties !== undefined) return checkedIf({ maxProperties }, checked, { maxProperties });
  if (maxItems !== undefined) return checkedIf({ maxItems }, checked, { maxItems });
  if (additionalProperties !== false) return checked;
  const known = Object.keys(properties ?? {}).length;
  return checkedIf({ maxProperties: known + MAX_UNKNOWN_KEYS }, checked, { maxProperties: known });
}

function checkedIf(condition: JsonSchema, schema: JsonSchema, otherwise: JsonSchema): JsonSchema {
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  return { if: condition, then: schema, else: otherwise };
}

/** Converts "12" to an integer, "12.50" to a number, "true" to a boolean, if the schema has that type. Other text stays text. */
function readText(value: unknown, schema: JsonSchema): unknown {
  const parts = value as Record<string, unknown>;
  const read: Record<string, unknown> = Object.create(null);
  for (const [key, text] of Object.entries(parts ?? {})) {
    const type = schema.properties?.[key]?.type;
    if (type === 'integer' && typeof text === 'string' && /^(0|-?[1-9]\d{0,15})$/.test(text))
      read[key] = Number(text);
    else if (type === 'number' && typeof text === 'string' && /^(0|[1-9]\d{0,14})(\.\d{1,6})?$/.test(text))
      read[key] = Number(text);
    else if (type === 'boolean' && (text === 'true' || text === 'false')) read[key] = text === 'true';
    else read[key] = text;
  }
  return read;
}

export function problemsOf(
  errors: ErrorObject[],
  formats: Record<string, TextFormat> = FORMATS,
): FieldProblem[] {
  const problems = new Map<string, FieldProblem>();
  for (const error of errors) {
    if (problems.size > MAX_PROBLEMS) break; // One problem more than the message lists, so that the message can say that there are more.
    if (error.keyword === 'propertyNames' || error.keyword === 'if') continue; // An earlier error gives the reason.
    const problem = problemOf(error, formats);
    // Keep the first problem of a field: a wrong type also fails every other rule.
    if (!problems.has(problem.path)) problems.set(problem.path, problem);
  }
  return [...problems.values()];
}

function problemOf(error: ErrorObject, formats: Record<string, TextFormat>): FieldProblem {
  const at = pathOf(error.instancePath);
  const { params, propertyName, parentSchema } = error;
  if (propertyName !== undefined) return badKey(at, propertyName, parentSchema);
  if (error.keyword === 'required') return { path: join(at, params.missingProperty), message: 'is required' };
  if (error.keyword === 'additionalProperties') {
    const message = `is not a known field; allowed: ${namesOf(parentSchema) || 'none'}`;
    return { path: join(at, clip(params.additionalProperty)), message };
  }
  return { path: at, message: messageOf(error, formats) };
}

/** The rule that a value breaks, as the text after the name of the field. */
function messageOf(
  { keyword, params, parentSchema, message }: ErrorObject,
  formats: Record<string, TextFormat>,
): string {
  switch (keyword) {
    case 'enum':
      return `must be one of ${(params.allowedValues as unknown[]).filter((v) => v !== null).join(', ')}`;
    case 'format':
      return formats[params.format as string]?.rule ?? `must be a ${params.format}`;
    case 'minProperties':
      return `must name at least one of ${namesOf(parentSchema)}`;
    case 'maxProperties':
      return `must have at most ${params.limit} keys`;
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
      return `must be ${COMPARISON[params.comparison as string]} ${params.limit}`;
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`;
    case 'maxLength':
      return `must have at most ${params.limit} characters`;
    case 'type':
      return `must be ${article(
        String(params.type)
          .replace(/,(\w+)$/, ' or $1')
          .replaceAll(',', ', '),
      )}`;
    default:
      return message ?? 'is invalid';
  }
}

function namesOf(schema: JsonSchema | undefined): string {
  return Object.keys(schema?.properties ?? {}).join(', ');
}

/** The problem of a key that `propertyNames` refuses. The `description` of that schema is used as the text of the rule. */
function badKey(at: string, key: string, names: JsonSchema | undefined): FieldProblem {
  const rule = typeof names?.description === 'string' ? names.description : 'is not allowed';
  return { path: join(at, clip(key)), message: `the key ${JSON.stringify(clip(key))} ${rule}` };
}

const COMPARISON: Record<string, string> = {
  '>=': 'at least',
  '<=': 'at most',
  '>': 'more than',
  '<': 'less than',
};

function article(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** Converts /items/0/quantity to items[0].quantity. The body itself is "body". */
function pathOf(pointer: string): string {
  if (pointer === '') return 'body';
  return pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => {
      if (/^\d+$/.test(part) || path.startsWith('filter[')) return `${path}[${part}]`;
      return path === '' ? part : `${path}.${part}`;
    }, '');
}

function join(at: string, name: string): string {
  if (at === 'body') return name === '' ? '""' : name;
  return at.startsWith('filter[') ? `${at}[${name}]` : `${at}.${name}`;
}

export function clip(name: string): string {
  return name.length > 80 ? `${name.slice(0, 80)}…` : name;
}
