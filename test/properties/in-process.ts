import { sql } from 'kysely';
import type { AccountRow } from '../../src/accounts/ledger/rules.ts';
import { openAccount } from '../../src/accounts/open-account.ts';
import { changePlan } from '../../src/accounts/plan-changes/change-plan.ts';
import type { NewPlanChange } from '../../src/accounts/plan-changes/schema.ts';
import { getAccountRow } from '../../src/accounts/store.ts';
import { type Actor, type Context, SYSTEM } from '../../src/core/context.ts';
import type { Tx } from '../../src/core/database/db.ts';
import { AppError } from '../../src/core/http/errors.ts';
import { createLog, type Log } from '../../src/core/log.ts';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import type { PostingContext } from '../../src/payments/posting/post-payments.ts';
import { postNow } from '../../src/payments/posting/post-payments.ts';
import { recordPayment } from '../../src/payments/posting/record-payment.ts';
import type { Outcome, PaymentToPost } from '../../src/payments/posting/rules.ts';
import type { PaymentRow } from '../../src/payments/rules.ts';
import type { NewPayment } from '../../src/payments/schema.ts';
import { newCustomer, type TestService } from '../support/harness.ts';
import { PROPERTY_RUNS } from '../support/property-runs.ts';

/** The number of cases of each property. `npm run test:properties` runs a thousand. */
export const RUNS = PROPERTY_RUNS;

/** The day on which every case begins, shortly before the end of February in a leap year. */
export const START = '2028-01-31' as PlainDate;

/** Pay plans that a few payments complete. Amounts are in hundredths. */
export const PLANS = [
  { name: 'Daily', depositMinor: 0n, instalmentMinor: 300n, instalmentCount: 12, graceDays: 2 },
  { name: 'Weekly', depositMinor: 1_000n, instalmentMinor: 550n, instalmentCount: 6, graceDays: 3 },
  { name: 'Monthly', depositMinor: 2_000n, instalmentMinor: 1_225n, instalmentCount: 4, graceDays: 5 },
  { name: 'Weekly, by hand', depositMinor: 700n, instalmentMinor: 333n, instalmentCount: 9, graceDays: 0 },
].map((plan, at) => ({
  ...plan,
  frequency: (['daily', 'weekly', 'monthly', 'weekly'] as const)[at] ?? ('weekly' as const),
  autoSuspend: at < 3,
}));

/** The data that the cases of a file share. It is created once through the API. */
export interface Stage {
  context: Context;
  log: Log;
  actor: Actor;
  /** Records payments, but may not assign them. */
  agent: Actor;
  /** A customer for each account of a case, with their phone. */
  customers: { id: number; phone: string }[];
  /** The ids of PLANS. */
  planIds: number[];
}

export async function setStage(service: TestService): Promise<Stage> {
  service.clock.set(new Date(`${START}T09:00:00Z`));
  const planIds = [];
  for (const { depositMinor, instalmentMinor, ...plan } of PLANS) {
    const amounts = { deposit: Number(depositMinor) / 100, instalmentAmount: Number(instalmentMinor) / 100 };
    const { body } = await service.call('POST', '/payplans', { ...plan, ...amounts });
    planIds.push(body.data.id);
  }
  const customers = [];
  for (let i = 0; i < 3; i += 1) customers.push(await newCustomer(service));
  await service.signInAs('agent');
  const { rows } = await sql<{ id: number; role: string }>`select id, role from users order by id`.execute(
    service.context.db,
  );
  const agentId = rows.find(({ role }) => role === 'agent')?.id ?? null;
  return {
    context: service.context,
    log: createLog(service.context.config),
    // A member of staff, because the suspension policy does not undo changes by staff.
    actor: { ...SYSTEM, userId: rows[0]?.id ?? null, name: 'staff', role: 'manager' },
    agent: { ...SYSTEM, userId: agentId, name: 'agent', role: 'agent' },
    customers,
    planIds,
  };
}

/** Runs the commands of the service in one transaction, with its own clock. */
export class Case {
  readonly stage: Stage;
  readonly tx: Tx;
  readonly context: PostingContext;
  day: PlainDate = START;

  constructor(stage: Stage, tx: Tx) {
    this.stage = stage;
    this.tx = tx;
    const clock = { now: () => new Date(`${this.day}T09:00:00Z`) };
    this.context = { ...stage.context, db: tx, clock, queue: this.queue };
  }

  /** Posts payments one at a time, in the case's transaction. */
  readonly queue = {
    submit: (item: PaymentToPost): Promise<Outcome> => postNow(this.tx, this.context, item),
  };

  /** Records a payment like staff. */
  async record(context: PostingContext, actor: Actor, body: NewPayment): Promise<PaymentRow> {
    const recorded = await recordPayment(context, actor, body);
    if ('payment' in recorded) return recorded.payment;
    throw new Error('A payment without an idempotency key was not recorded.');
  }

  /** Opens an account of the first customer. */
  open(payplanId: number, activationDate = this.day): Promise<AccountRow> {
    const customerId = this.stage.customers[0]?.id ?? 0;
    return openAccount(this.context, this.stage.actor, {
      customerId,
      productId: 1,
      payplanId,
      activationDate,
    });
  }

  /** Confirms a change of a plan whose effect was just shown. @returns undefined for a refusal. */
  async changePlan(id: number, body: NewPlanChange) {
    const { plan_version: version, paid_minor: paid } = await getAccountRow(this.tx, id);
    const confirm = { version, paid: paid / 100 };
    return this.attempt((context, actor) =>
      changePlan(context, actor, id, { reason: 'tried', ...body, confirm }),
    );
  }

  wait(days: number): void {
    this.day = addDays(this.day, days);
  }

  /** Runs a command in a savepoint, so that a refused command changes nothing. @returns undefined for a refusal. */
  async attempt<T>(
    command: (context: PostingContext, actor: Actor) => Promise<T>,
    actor = this.stage.actor,
  ): Promise<T | undefined> {
    await sql`savepoint attempt`.execute(this.tx);
    try {
      return await command(this.context, actor);
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      await sql`rollback to savepoint attempt`.execute(this.tx);
      return undefined;
    } finally {
      await sql`release savepoint attempt`.execute(this.tx);
    }
  }
}

class Done extends Error {}
let cases = 0;

/** Runs a case in a transaction that is rolled back at the end. */
export async function inCase(stage: Stage, work: (run: Case) => Promise<void>): Promise<void> {
  cases += 1;
  // Rows of rolled-back transactions stay in the tables until a vacuum, and would slow down the checks.
  if (cases % 100 === 0) await sql`vacuum`.execute(stage.context.db);
  try {
    await stage.context.db.transaction().execute(async (tx) => {
      await work(new Case(stage, tx));
      throw new Done();
    });
  } catch (error) {
    if (!(error instanceof Done)) throw error;
  }
}
