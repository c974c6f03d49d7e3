import type { components, operations } from './generated/api.ts';
import type { AnswerHead } from './requests.ts';

/** The schemas of the API by name: `Schemas['Account']`. */
export type Schemas = components['schemas'];
export type OperationId = keyof operations;

type Success = 200 | 201 | 202;
type Answer<Id extends OperationId> = operations[Id]['responses'][keyof operations[Id]['responses'] &
  Success];
type Content<Id extends OperationId> = Answer<Id> extends { content: infer C } ? C : never;
type Json<Id extends OperationId> = Content<Id> extends { 'application/json': infer J } ? J : string;

/** What a call resolves to: the field `data` of the answer, or the whole answer if it has no such field. */
export type DataOf<Id extends OperationId> = Json<Id> extends { data: infer D } ? D : Json<Id>;

/** A page of a list. */
export type PageOf<Id extends OperationId> =
  Json<Id> extends { data: infer D; pagination: infer P } ? { data: D; pagination: P } : never;

/** A row of a list. */
export type RowOf<Id extends OperationId> = DataOf<Id> extends readonly (infer Row)[] ? Row : never;

export type EventType = Schemas['Event']['type'];

/** An event. A check of `type` narrows `data`: `if (event.type === 'account.suspended') event.data.cause`. */
export type EventOf<Type extends EventType = EventType> = Extract<Schemas['Event'], { type: Type }>;

/** The request body of a call. */
export type BodyOf<Id extends OperationId> = operations[Id] extends { requestBody: { content: infer C } }
  ? C[keyof C]
  : operations[Id] extends { requestBody?: { content: infer C } }
    ? C[keyof C] | undefined
    : never;

type GivenQuery<Id extends OperationId> = NonNullable<operations[Id]['parameters']['query']>;
type FilterName<Key> = Key extends `filter[${infer Field}]` ? Field : never;

/** The condition of a filter: a value, which means the same as `eq`, or an object of operators. */
type Condition<Operators extends { eq?: unknown }> =
  | NonNullable<Operators['eq']>
  | {
      [Op in keyof Operators]?:
        | (Op extends 'in' | 'nin' ? readonly NonNullable<Operators['eq']>[] : NonNullable<Operators[Op]>)
        | undefined;
    };

type FilterOf<Query> = {
  [Key in keyof Query as FilterName<Key>]?:
    | (NonNullable<Query[Key]> extends infer Operators extends { eq?: unknown }
        ? Condition<Operators>
        : never)
    | undefined;
};

/** A parameter that takes a list also accepts one value without a list. */
type OneOrMore<Value> = Value extends readonly (infer Item)[] ? Item | readonly Item[] : Value;

type ParametersOf<Query> = {
  [Key in keyof Query as Key extends `filter[${string}]` ? never : Key]: OneOrMore<Query[Key]>;
};

/** Allows undefined for optional fields, even with the compiler option exactOptionalPropertyTypes. */
type Loose<Query> = {
  [Key in keyof Query]: undefined extends Query[Key] ? Query[Key] | undefined : Query[Key];
};

/** The query of a call. Filters are fields of `filter`: `{ filter: { status: 'active', balance: { gt: 0 } } }`. */
export type QueryOf<Id extends OperationId> = Loose<
  ParametersOf<GivenQuery<Id>> &
    (keyof FilterOf<GivenQuery<Id>> extends never ? unknown : { filter?: FilterOf<GivenQuery<Id>> })
>;

/** The query of a call without query parameters. */
export type NoQuery = Readonly<Record<string, never>>;

/** The query of an iteration. `page` and `after` are missing, because the client reads all pages of the list. */
export type IterationQueryOf<Id extends OperationId> = Omit<QueryOf<Id>, 'page' | 'after'>;

/** For a call that answers JSON, or a file if `format` asks for one. */
export type JsonQueryOf<Id extends OperationId> = Omit<QueryOf<Id>, 'format'>;
export type FileQueryOf<Id extends OperationId> =
  QueryOf<Id> extends { format?: infer Format }
    ? Omit<QueryOf<Id>, 'format'> & { format: Exclude<Format, 'json' | undefined> }
    : never;

/** A file that the service returned, such as a PDF. */
export interface ServiceFile {
  bytes: Uint8Array;
  contentType: string;
  /** The name that the service suggests. */
  name: string | undefined;
}

export interface CallOptions {
  /** Aborts the call and its retries. */
  signal?: AbortSignal | undefined;
  /** The time limit of each try. The seconds of the query parameter `wait` are added. Default: the limit of the client. */
  timeoutMs?: number | undefined;
  /** Default: the setting of the client. */
  maxRetries?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Called with the status and the headers of each answer. The headers show the rate limits and Idempotent-Replayed. */
  onResponse?: ((response: AnswerHead) => void) | undefined;
}

/** For a call that takes an Idempotency-Key. */
export interface RepeatableCallOptions extends CallOptions {
  /** Default: a random key for the call and its retries. Pass your own key to be able to repeat the call later. */
  idempotencyKey?: string;
}
