/** The query string of a call: `filter: { id: { in: [1, 2] } }` becomes `filter[id][in]=1,2`. */
export function writeQuery(query: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams();
  const add = (name: string, value: unknown) => {
    if (value !== undefined) parameters.append(name, String(value));
  };
  for (const [name, value] of Object.entries(query)) {
    if (name !== 'filter') {
      add(name, value);
      continue;
    }
    for (const [field, condition] of Object.entries(value ?? {})) {
      if (typeof condition !== 'object' || condition === null) add(`filter[${field}]`, condition);
      else {
        for (const [operator, operand] of Object.entries(condition))
          add(`filter[${field}][${operator}]`, Array.isArray(operand) ? joined(field, operand) : operand);
      }
    }
  }
  const text = String(parameters);
  return text === '' ? '' : `?${text}`;
}

/** In the API, commas separate the values of a list, and no value can contain a comma. */
function joined(field: string, values: readonly unknown[]): string {
  if (values.length === 0) throw new TypeError(`filter.${field}: a list must have at least one value.`);
  const withComma = values.find((value) => String(value).includes(','));
  if (withComma !== undefined)
    throw new TypeError(`filter.${field}: a value of a list must not contain a comma: ${withComma}`);
  return values.join(',');
}
