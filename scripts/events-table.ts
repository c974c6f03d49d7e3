import {
  EVENT_TYPES,
  EVENTS,
  type EventType,
  fieldsOf,
  versionOf,
} from '../src/changes/events/catalogue-schema.ts';
import { shownName } from '../src/changes/events/rules.ts';

/** The catalogue of events as a table in Markdown. */
export function eventsTable(): string {
  const rows = EVENT_TYPES.map(
    (type) => `| \`${type}\` | ${versionOf(type)} | ${EVENTS[type].when} | ${dataOf(type)} |`,
  );
  return ['| type | version | when | data |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function dataOf(type: EventType): string {
  return fieldsOf(type)
    .map(([field]) => `\`${shownName(field)}\``)
    .join(', ');
}

/** A table in Markdown: the fields in the data of events, each with its description. */
export function eventFieldsTable(): string {
  const described = new Map(
    EVENT_TYPES.flatMap(fieldsOf).flatMap(([field, schema]) => {
      const meaning = descriptionOf(schema);
      return meaning === undefined ? [] : [[shownName(field), meaning] as const];
    }),
  );
  const rows = [...described]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, meaning]) => `| \`${name}\` | ${meaning} |`);
  return ['| field | meaning |', '| --- | --- |', ...rows].join('\n');
}

/** The description of a schema. For a union that has none, the description of the first part that has one. */
function descriptionOf(schema: object): string | undefined {
  const { description, anyOf = [] } = schema as { description?: string; anyOf?: object[] };
  return description ?? anyOf.map(descriptionOf).find((text) => text !== undefined);
}
