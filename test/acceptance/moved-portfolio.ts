// What must be the same after a portfolio has moved to another database.

/** An answer without the ids that a database gives its rows, and without the URLs with such ids. */
export function withoutIds(answer: unknown): unknown {
  return JSON.parse(
    JSON.stringify(answer, (key, value) =>
      /^id$|(?:payment|event|move|product)Id$|Url$/i.test(key) ? undefined : value,
    ),
  );
}

/** The checks of rows that an export does not contain. Of changed plans, it has the present terms. */
const NOT_EXPORTED =
  /^(notifications|reported_transactions|statement_lines|invoice_|commission_|approvals|events_|plan_changes|price_changes|original_terms)/;

/**
 * The number of rows and the sums of each check of `npm run verify` whose rows an export contains. Leaves out the number of
 * ledger entries, because an export contains only the last assignment of a payment.
 */
export function sumsOf(output: string): Record<string, string> {
  const checks = [...output.matchAll(/^passes (\w+): .*\n +(.*)$/gm)].map(([, check = '', figures = '']) => [
    check,
    check === 'ledger_events' ? figures.replace(/^\d+ rows, /, '') : figures,
  ]);
  return Object.fromEntries(checks.filter(([check = '']) => !NOT_EXPORTED.test(check)));
}
