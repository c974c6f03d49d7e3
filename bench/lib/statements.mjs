/**
 * Replaces values in recorded statements by variables, so that pgbench and bare.mjs can run the statements with other ids.
 * @param marks - for each name of a variable, its value in the recorded call.
 * @returns the statements. Each of their values is null, or a list of parts. A part is a text, or `{ name }` for a variable.
 */
export function templateOf(recorded, marks) {
  const names = new Map(Object.entries(marks).map(([name, text]) => [String(text), name]));
  return recorded.map(({ text, values }) => ({
    text,
    values: values.map((value) => (value === null ? null : partsOf(String(value), names))),
  }));
}

function partsOf(text, names) {
  const marks = [...names.keys()].map((mark) => mark.replace(/[^\w]/g, '\\$&'));
  const pieces = text.split(new RegExp(`(?<![A-Za-z0-9])(${marks.join('|')})(?![A-Za-z0-9])`));
  return pieces
    .map((piece, i) => (i % 2 === 1 ? { name: names.get(piece) } : piece))
    .filter((piece) => piece !== '');
}

export function valuesOf({ values }, variables) {
  return values.map((parts) => {
    if (parts === null) return null;
    if (parts.length === 1 && parts[0].name) return variables[parts[0].name];
    return parts.map((part) => (part.name ? variables[part.name] : part)).join('');
  });
}

/** @returns the PostgreSQL types of the parameters of each statement. */
export async function typesOf(database, statements) {
  const types = [];
  for (const { text } of statements) {
    if (!text.includes('$1')) {
      types.push([]);
      continue;
    }
    await database.query(`prepare typed as ${text}`);
    const { rows } = await database.query(
      `select parameter_types::text[] as types from pg_prepared_statements where name = 'typed'`,
    );
    await database.query('deallocate typed');
    types.push(rows[0].types);
  }
  return types;
}

/**
 * Returns a pgbench script, and the texts in its statements. pgbench gets the texts by its option -D, because `\set` can only set
 * numbers.
 * @param types - see `typesOf`.
 * @param ranges - for each name of a variable, its lowest and its highest value.
 */
export function pgbenchScript(statements, types, ranges) {
  const constants = [];
  const lines = Object.entries(ranges).map(([name, [from, to]]) => `\\set ${name} random(${from}, ${to})`);
  for (const [i, { text, values }] of statements.entries()) {
    const sql = text.replace(/\s+/g, ' ').replace(/\$(\d+)/g, (_all, number) => {
      const parts = values[Number(number) - 1];
      if (parts === null) return 'null';
      if (parts.length === 1 && parts[0].name) return `:${parts[0].name}`;
      const terms = parts.map((part) => {
        if (part.name) return `:${part.name}::text`;
        constants.push(part);
        return `:text${constants.length - 1}${parts.length > 1 ? '::text' : ''}`;
      });
      if (terms.length > 0)
        return terms.length > 1 ? `(${terms.join(' || ')})::${types[i][Number(number) - 1]}` : terms[0];
      constants.push('');
      return `:text${constants.length - 1}`;
    });
    lines.push(`${sql};`);
  }
  return { script: `${lines.join('\n')}\n`, defines: constants.map((text, i) => `text${i}=${text}`) };
}
