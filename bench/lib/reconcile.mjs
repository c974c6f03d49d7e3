export const BATCH = 10_000;

/** @returns a function that finds the next payments for `reconcile`, because a payment can be reconciled only once. */
export function unreconciledOf(database) {
  let last = 0;
  return async () => {
    const { rows } = await database.query(
      `select p.id::int from payments p
        where reconciliation_id is null and status <> 'reversed' and id > $1 order by p.id limit $2`,
      [last, BATCH],
    );
    last = rows.at(-1).id;
    return rows.map(({ id }) => id);
  };
}

export async function reconcile({ base, headers }, paymentIds) {
  const response = await fetch(`${base}/api/payments/reconcile`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ paymentIds }),
  });
  const answer = await response.json();
  if (answer.data?.counts.reconciled !== BATCH) throw new Error(JSON.stringify(answer).slice(0, 300));
}
