import { Readable } from 'node:stream';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { formatAccountNumber } from '../accounts/account-number-rules.ts';
import { activateDueAccounts } from '../accounts/activate-due-accounts.ts';
import { changeAccount } from '../accounts/change-account.ts';
import { refundCredit } from '../accounts/credit/commands.ts';
import { openAccount } from '../accounts/open-account.ts';
import { dueBy } from '../accounts/schedule/rules.ts';
import { isStatusIn } from '../accounts/status/rules.ts';
import { suspendLateAccounts } from '../accounts/status/suspend-late-accounts.ts';
import { createEmployee } from '../catalogue/employees/commands.ts';
import { createPayPlan } from '../catalogue/pay-plans/commands.ts';
import { type PlanTerms, totalMinor } from '../catalogue/pay-plans/rules.ts';
import type { NewPayPlan } from '../catalogue/pay-plans/schema.ts';
import { getMethodId } from '../catalogue/payment-methods/store.ts';
import { hasProducts } from '../catalogue/products/store.ts';
import { calculateCommission, changeCommission } from '../commissions/commands.ts';
import { type Actor, amountOf, type Context, readAmount, SYSTEM } from '../core/context.ts';
import type { CopyPool } from '../core/database/copy-pool.ts';
import type { AccountStatus, Frequency } from '../core/database/tables.ts';
import { inTransaction } from '../core/database/transactions.ts';
import type { Log } from '../core/log.ts';
import {
  addDays,
  addMonthsKeepingDay,
  businessDay,
  daysBetween,
  firstOfMonth,
  type PlainDate,
  startOfDayUtc,
} from '../core/values/dates.ts';
import { createCustomer } from '../customers/commands.ts';
import { updateKyc } from '../customers/kyc/commands.ts';
import { issueInvoice, voidInvoice } from '../documents/invoices/commands.ts';
import { receiveStatement } from '../mobile-money/provider-statements/receive-statement.ts';
import { startStage, workOnStatement } from '../mobile-money/provider-statements/work-on-statement.ts';
import { STATEMENT_PROVIDER } from '../mobile-money/providers/registry.ts';
import { readNotification } from '../mobile-money/providers/rules.ts';
import { assignPayment } from '../payments/assign-payment.ts';
import { notificationToPost } from '../payments/notifications/rules.ts';
import { insertRejected } from '../payments/notifications/store.ts';
import { manualPaymentToPost } from '../payments/posting/manual-payment-rules.ts';
import { openPostingQueue, postPayments } from '../payments/posting/post-payments.ts';
import type { Outcome, PaymentToPost } from '../payments/posting/rules.ts';
import { methodCodeOf } from '../payments/provider-name-rules.ts';
import { reconcile } from '../payments/reconciliations/reconcile.ts';
import { reversePayment } from '../payments/reverse-payment.ts';
import type { SettableClock } from '../platform/test-clock/settable-clock.ts';
import { addDemoCatalogue } from '../start/demo-catalogue.ts';
import { addStaff, decideRequests, leaveRequests, type Staff } from './approvals.ts';
import { checkFilesWithMistakes, type ImportedPlan, importEarlierCustomers } from './imports.ts';
import { callOf, statementOf, type Transaction, unreadableCalls } from './mobile-money.ts';
import { tryWebhooks } from './webhooks.ts';

const SEED = 20_261;
const DAYS = 365;
/** The hours of the day. `jobs`: accounts are activated or suspended. `office`: staff work on payments, KYC and debts. */
const HOURS = { jobs: 0.2, sales: 8, payments: [13, 20], office: 21 };
const HOUR_MS = 3_600_000;
const ACTOR: Actor = { ...SYSTEM, name: 'demo company' };
// What happens in the last days. The numbers are days before the last day.
const UNREADABLE_ON = [5, 3, 1]; // An unreadable call arrives.
const STATEMENTS_ON = { clean: 8, withDifferences: 1 }; // A statement of seven days is uploaded.
const TYPED_WRONG_ON = 2; // Staff type two wrong amounts.
const APPROVALS_ON = { decided: 6, open: 1 }; // The manager decides on requests; staff make requests that stay open.
const CHECKED_ON = 4; // Files with mistakes are checked.
/** How staff mistype an amount: with a wrong digit, and with an additional zero. */
const TYPED_WRONG = [(amount: number) => amount + 100, (amount: number) => amount * 10];

/** The products that the company sells, and how many of 100 customers choose each. Each offer has a pay plan of its own. */
const OFFERS = [
  {
    sku: 'SHS-40',
    share: 40,
    plan: plan('Home system 40 W, weekly', [2_000, 400, 52, 'weekly'], { graceDays: 7, autoSuspend: true }),
  },
  {
    sku: 'SHS-40',
    share: 15,
    plan: plan('Home system 40 W, daily', [1_500, 60, 365, 'daily'], { graceDays: 5, autoSuspend: true }),
  },
  {
    sku: 'SHS-120',
    share: 18,
    plan: plan('Home system 120 W, monthly', [5_000, 2_500, 24, 'monthly'], { graceDays: 14 }),
  },
  {
    sku: 'PUMP-1',
    share: 12,
    plan: plan('Surface pump, monthly', [6_000, 2_200, 24, 'monthly'], { graceDays: 14 }),
  },
  {
    sku: 'LAMP-2',
    share: 15,
    plan: plan('Study lamps, weekly', [300, 100, 26, 'weekly'], { graceDays: 7, autoSuspend: true }),
  },
];

/** Can be sold, but has no account: the simulated customers pay equal instalments. */
const HARVEST_PLAN: NewPayPlan = {
  ...{ name: 'Surface pump, two harvests a year', deposit: 6_000, price: 60_000, roundingUnit: 100 },
  harvest: {
    entries: [
      { month: 3, day: 15, shareBasisPoints: 6_000 },
      { month: 9, day: 30, shareBasisPoints: 4_000 },
    ],
    cycles: 2,
    leadDays: 60,
  },
  graceDays: 30,
};

const FIRST_NAMES =
  'Wanjiru Otieno Achieng Mwangi Kamau Njeri Kiprop Chebet Wafula Nekesa Mutua Mwende Hassan Amina Juma Zawadi Barasa Atieno Kimani Wambui'.split(
    ' ',
  );
const LAST_NAMES =
  'Kamau Odhiambo Mutiso Njoroge Cheruiyot Wekesa Abdi Omondi Kariuki Muthoni Koech Simiyu Ndungu Ouma Maina Rotich Nyambura Onyango Gitau Makokha'.split(
    ' ',
  );
const REGIONS = ['Meru', 'Kitui', 'Kisumu', 'Nakuru', 'Kilifi'];
const AGENTS = ['Grace Njeri', 'Samuel Kiprop', 'Faith Atieno', 'Peter Mutua'];

/** How a customer pays: on time, late, in advance, or on time until some day and then almost nothing. */
type Manner = 'steady' | 'late' | 'generous' | 'stopping';
/** The manners repeat after this many customers, so that every manner occurs. See `mannerOf`. */
const CYCLE = 12;

/** The steps, one a week, by which staff pursue the debt of a customer who has stopped paying. */
const PURSUIT: readonly { from: AccountStatus; to: AccountStatus; reason: string }[] = [
  { from: 'active', to: 'suspended', reason: 'no payment for weeks' },
  { from: 'suspended', to: 'defaulted', reason: 'does not answer calls' },
  { from: 'defaulted', to: 'repossessed', reason: 'collected by the agent' },
  { from: 'repossessed', to: 'written_off', reason: 'the system cannot be sold again' },
];

type Offer = (typeof OFFERS)[number] & { planId: number; productId: number; productName: string };

interface Contract {
  accountId: number;
  offer: Offer;
  payer: { firstName: string; phone: string };
  manner: Manner;
  startsOn: PlainDate;
  /** The customer pays this many days before the due date. */
  leadDays: number;
  /** With the manner `stopping`: the number of days after the start until the customer stops paying. */
  stopsAfter: number;
  /** With the manner `stopping`: the number of steps by which staff pursue the debt. */
  pursuitSteps: number;
  /** The sum that the customer has sent, in whole units, including money that waits to be assigned. */
  sent: number;
  isOver: boolean;
}

/** A payment that a customer makes on a day. */
interface PlannedPayment {
  contract: Contract;
  amount: number;
  time: Date;
}

interface Recording {
  amount: number;
  methodId: number;
  reference: string | null;
  time: Date;
}

interface UnmatchedPayment {
  paymentId: number;
  contract: Contract;
  since: PlainDate;
}

/**
 * Simulates a year that ends at `now`: opens accounts, and posts the payments of their customers. Staff assign, reverse and
 * reconcile payments, refund credit and pay commissions. The last days leave open work: unmatched payments, conflicts, rejected
 * notifications, a statement of the provider that differs from the books, KYC to decide, commissions to approve, requests for
 * approval, and an import with mistakes.
 */
export async function simulateDemoYear(
  context: Context,
  tools: Pick<Tools, 'clock' | 'copies'>,
  log: Log,
  { now, accounts }: { now: Date; accounts: number },
): Promise<void> {
  const today = businessDay(now, context.config.BUSINESS_TIMEZONE);
  const from = addDays(today, -DAYS);
  // The approval limit applies only to the requests of the last days, see `requestApprovals`.
  const config = { ...context.config, approvalLimitMinor: undefined };
  const year = new DemoYear({ ...context, config }, { ...tools, log }, { from, now, today });
  log.info('Creating the demo company with a year of sales and payments. This takes up to a minute.');
  await year.begin(accounts);
  for (let date = from; date <= today; date = addDays(date, 1)) {
    await year.simulateDay(date);
    if (date === today || addDays(date, 1).endsWith('-01')) {
      log.info(`Demo company: ${date.slice(0, 7)}, ${year.accounts} accounts, ${year.payments} payments`);
    }
  }
}

interface Tools {
  clock: SettableClock;
  copies: CopyPool;
  log: Log;
}

class DemoYear {
  accounts = 0;
  payments = 0;
  private readonly context: Context;
  private readonly tools: Tools;
  private readonly now: Date;
  private readonly firstDate: PlainDate;
  private readonly today: PlainDate;
  private readonly random = createRandom(SEED);
  private readonly contracts: Contract[] = [];
  private offers: Offer[] = [];
  private agentIds: number[] = [];
  private openingDates: PlainDate[] = [];
  private cashId = 0;
  private staff: Staff | undefined;
  private readonly unmatched: UnmatchedPayment[] = [];
  private mistakes: { paymentId: number; contract: Contract; amount: number }[] = [];
  private readonly submittedKyc: { customerId: number; since: PlainDate }[] = [];
  private readonly unreconciled: { paymentId: number; since: PlainDate }[] = [];
  private readonly transactions: Transaction[] = [];

  constructor(
    context: Context,
    tools: Tools,
    { from, now, today }: { from: PlainDate; now: Date; today: PlainDate },
  ) {
    this.context = context;
    this.tools = tools;
    this.firstDate = from;
    this.now = now;
    this.today = today;
  }

  /** Adds the catalogue and the staff, and chooses the days of sales. */
  async begin(accounts: number): Promise<void> {
    const { context } = this;
    this.moveTo(this.firstDate, HOURS.jobs);
    if (!(await hasProducts(context.db)))
      await inTransaction(context.db, (tx) => addDemoCatalogue(tx, context.currency.decimals));
    const products = await context.db.selectFrom('products').select(['id', 'sku', 'name']).execute();
    for (const offer of OFFERS) {
      const product = products.find(({ sku }) => sku === offer.sku);
      if (!product) throw new Error(`The demo catalogue has no product ${offer.sku}.`);
      const plan = await createPayPlan(context, ACTOR, { ...offer.plan, productId: product.id });
      this.offers.push({ ...offer, planId: plan.id, productId: product.id, productName: product.name });
    }
    const pump = products.find(({ sku }) => sku === 'PUMP-1');
    await createPayPlan(context, ACTOR, { ...HARVEST_PLAN, productId: pump?.id ?? null });
    for (const [at, name] of AGENTS.entries()) {
      const employee = await createEmployee(context, ACTOR, { name, phone: `+25473300010${at}` });
      this.agentIds.push(employee.id);
    }
    this.staff = await addStaff(context, ACTOR);
    this.cashId = await getMethodId(context.db, 'cash');
    await importEarlierCustomers({ context, ...this.tools }, ACTOR, this.importedPlan());
    // More sales at the beginning than at the end, so that most accounts have a history.
    this.openingDates = Array.from({ length: accounts }, () =>
      addDays(this.firstDate, Math.floor(DAYS * (this.random(10_000) / 10_000) ** 1.5)),
    ).sort();
  }

  async simulateDay(date: PlainDate): Promise<void> {
    const { context } = this;
    if (!this.moveTo(date, HOURS.jobs)) return;
    const { signal } = new AbortController();
    await activateDueAccounts(context, signal);
    await suspendLateAccounts(context, context.clock.now(), signal);
    if (!this.moveTo(date, HOURS.sales)) return;
    while (this.openingDates[0] === date) {
      this.openingDates.shift();
      await this.sell(date);
    }
    const planned = this.planPayments(date);
    let posted = this.momentOf(date, HOURS.sales);
    for (const hour of HOURS.payments) {
      const from = posted;
      const until = this.moveTo(date, hour) ? this.momentOf(date, hour) : this.now;
      this.tools.clock.set(until);
      await this.postPlanned(planned.filter(({ time }) => time >= from && time < until));
      posted = until;
    }
    if (this.moveTo(date, HOURS.office)) await this.workInTheOffice(date);
  }

  private async sell(date: PlainDate): Promise<void> {
    const { context } = this;
    const number = this.contracts.length;
    const firstName = this.pick(FIRST_NAMES);
    const lastName = this.pick(LAST_NAMES);
    const phone = `+2547${String(10_000_000 + number * 7_919)}`;
    const nationalId = String(20_000_000 + number * 3_571);
    const metadata = { region: this.pick(REGIONS) };
    const body = { firstName, lastName, phone, nationalId, metadata };
    const customer = await createCustomer(context, ACTOR, body);
    if (!this.oneIn(15)) await this.submitKyc(customer.id, nationalId, date);
    const offer = this.pickOffer();
    const account = await openAccount(context, ACTOR, {
      customerId: customer.id,
      productId: offer.productId,
      payplanId: offer.planId,
      employeeId: this.pick(this.agentIds),
      // Some systems are installed some days later.
      activationDate: this.oneIn(12) ? addDays(date, 1 + this.random(6)) : date,
    });
    this.contracts.push({
      accountId: account.id,
      offer,
      payer: { firstName, phone },
      manner: mannerOf(number % CYCLE),
      startsOn: account.activation_date,
      leadDays: this.random(4),
      stopsAfter: 20 + this.random(150),
      pursuitSteps: 1 + (Math.floor(number / CYCLE) % PURSUIT.length),
      sent: 0,
      isOver: false,
    });
    this.accounts += 1;
    if (this.oneIn(3)) {
      const description = `Deposit, ${offer.productName}`;
      const item = { description, quantity: 1, unitPrice: offer.plan.deposit };
      const { invoice } = await issueInvoice(context, ACTOR, { accountId: account.id, items: [item] });
      if (this.oneIn(20)) await voidInvoice(context, ACTOR, invoice.id, 'issued twice');
    }
  }

  private async submitKyc(customerId: number, number: string, date: PlainDate): Promise<void> {
    await updateKyc(this.context, ACTOR, customerId, {
      verificationType: 'national_id',
      verificationStatus: 'pending',
      documents: [{ type: 'national_id', number }],
    });
    this.submittedKyc.push({ customerId, since: date });
  }

  private planPayments(date: PlainDate): PlannedPayment[] {
    const planned = this.contracts.flatMap((contract) => {
      const amount = this.amountOn(contract, date);
      if (amount <= 0) return [];
      const time = new Date(this.momentOf(date, HOURS.sales).getTime() + this.random(12 * HOUR_MS));
      return [{ contract, amount, time }];
    });
    return planned.sort((a, b) => a.time.getTime() - b.time.getTime());
  }

  /** The amount that the customer pays on a day, in whole units. 0 if the customer pays nothing. */
  private amountOn(contract: Contract, date: PlainDate): number {
    const { manner, sent, offer, startsOn, leadDays, stopsAfter, isOver } = contract;
    const { deposit, instalmentAmount, frequency } = offer.plan;
    const age = daysBetween(startsOn, date);
    const terms = { ...termsOf(offer.plan), graceDays: 0, activationDate: startsOn };
    const left = totalOf(offer.plan) - sent;
    if (isOver || left <= 0) return 0;
    if (sent === 0) return age >= -leadDays ? deposit : 0;
    if (manner === 'stopping' && age > stopsAfter) return this.oneIn(90) ? instalmentAmount : 0;
    const isLate = manner === 'late';
    const due = Number(dueBy(terms, isLate ? date : addDays(date, leadDays))) - sent;
    if (due <= 0 || this.oneIn(4)) return 0;
    if (isLate) {
      if (!this.oneIn(10)) return 0;
      const part = Math.ceil((due * (40 + this.random(61))) / 100 / 10) * 10;
      return Math.min(left, Math.max(instalmentAmount, part));
    }
    const periods = frequency === 'daily' ? 7 : 1;
    // Generous customers do not check how much they still owe, so some of them end with credit.
    if (manner === 'generous') return due + instalmentAmount * periods * this.random(4);
    return Math.min(left, Math.max(due, instalmentAmount * periods));
  }

  private async postPlanned(planned: readonly PlannedPayment[]): Promise<void> {
    const outcomes = await this.post(planned.map((payment) => this.incomingOf(payment)));
    for (const [at, payment] of planned.entries()) {
      const outcome = outcomes[at];
      if (outcome) this.remember(payment, outcome);
    }
  }

  /** Posts payments in one batch, as the posting queue does. */
  private async post(items: readonly PaymentToPost[]): Promise<Outcome[]> {
    if (items.length === 0) return [];
    const { context } = this;
    const { done } = await inTransaction(context.db, (tx) => postPayments(tx, context, items), {
      startsWithReads: true,
    });
    return items.map((item) => {
      const result = done.get(item);
      if (!result || 'error' in result) throw new Error('A demo payment was not posted.', { cause: result });
      return result.outcome;
    });
  }

  private incomingOf(payment: PlannedPayment): PaymentToPost {
    const { contract, amount, time } = payment;
    const { accountId, payer } = contract;
    const chance = this.random(1_000);
    if (chance < 60)
      return this.recordedBy(contract, { amount, methodId: this.cashId, reference: null, time });
    const number = formatAccountNumber(accountId);
    let reference = number;
    if (chance < 110) reference = this.pick([this.mistype(number), 'SOLAR', payer.firstName]);
    else if (chance < 160) reference = ''; // The payer's phone number leads to the account.
    return this.reportedBy(this.addTransaction({ time, amount, reference, payer }));
  }

  /** A payment that staff record. */
  private recordedBy(
    { accountId }: Contract,
    { amount, methodId, reference, time }: Recording,
  ): PaymentToPost {
    const { config, currency } = this.context;
    return manualPaymentToPost({
      actor: ACTOR,
      accountId,
      amountMinor: readAmount(amount, currency),
      paymentMethodId: methodId,
      transactionRef: reference,
      paymentDate: businessDay(time, config.BUSINESS_TIMEZONE),
      bothAreReal: false,
      externalId: null,
      metadata: {},
    });
  }

  /** Adds a transaction to the provider's statement. */
  private addTransaction(payment: Omit<Transaction, 'id'>): Transaction {
    // Digits only, because a batch has no two references that differ only in letters that look alike.
    const id = `DEMO${String(this.transactions.length + 1).padStart(6, '0')}`;
    const transaction = { id, ...payment };
    this.transactions.push(transaction);
    return transaction;
  }

  /** A payment that the provider reports. */
  private reportedBy(transaction: Transaction): PaymentToPost {
    const body = callOf(transaction, this.shortCode);
    const reading = this.readCall(body);
    if ('problems' in reading) throw new Error(`A demo notification cannot be read: ${body}`);
    return notificationToPost(reading.notification, this.context.config.PHONE_REGION);
  }

  /** Reads the body of a call, as the route of the provider does. */
  private readCall(body: string): ReturnType<typeof readNotification> {
    const { config, currency } = this.context;
    const settings = { currency, timeZone: config.BUSINESS_TIMEZONE, paybillNumbers: config.paybillNumbers };
    const sent = STATEMENT_PROVIDER.read(Buffer.from(body));
    if (!sent)
      return { problems: [{ path: 'body', message: `must be ${STATEMENT_PROVIDER.format}` }], readable: {} };
    return readNotification(STATEMENT_PROVIDER, sent, body, this.tools.clock.now(), settings);
  }

  private get shortCode(): string {
    return this.context.config.paybillNumbers[0] ?? '600638';
  }

  private remember({ contract, amount, time }: PlannedPayment, recorded: Outcome): void {
    contract.sent += amount;
    this.payments += 1;
    const since = businessDay(time, this.context.config.BUSINESS_TIMEZONE);
    if ('payment' in recorded) {
      if (this.oneIn(25)) this.mistakes.push({ paymentId: recorded.payment.id, contract, amount });
      return;
    }
    if (!('outcome' in recorded) || recorded.paymentId === null) return;
    const { paymentId } = recorded;
    if (recorded.outcome === 'unmatched') this.unmatched.push({ paymentId, contract, since });
    if (!this.oneIn(80)) this.unreconciled.push({ paymentId, since });
  }

  private async workInTheOffice(date: PlainDate): Promise<void> {
    await this.assignUnmatched(addDays(date, -8));
    await this.decideKyc(addDays(date, -4));
    if (daysBetween(this.firstDate, date) % 7 === 6) {
      await this.reverseMistakes();
      await this.reconcileUntil(addDays(date, -2), date);
      for (const contract of this.contracts) await this.review(contract, date);
    }
    if (date.endsWith('-05')) await this.payCommissions(date);
    await this.leaveDifferences(date);
  }

  /** In the last days, creates open work for staff, such as differences between the provider's statement and the books. */
  private async leaveDifferences(date: PlainDate): Promise<void> {
    const daysLeft = daysBetween(date, this.today);
    const unreadable = UNREADABLE_ON.indexOf(daysLeft);
    if (unreadable >= 0) await this.receiveUnreadable(unreadable);
    if (daysLeft === TYPED_WRONG_ON) await this.typeWrong(date);
    if (daysLeft === CHECKED_ON)
      await checkFilesWithMistakes({ context: this.context, ...this.tools }, ACTOR, this.importedPlan());
    if (daysLeft === STATEMENTS_ON.clean) {
      const id = await this.uploadStatement(date);
      await startStage(this.context, ACTOR, id, 'reconciling');
      await this.finishStatement(id);
    }
    if (daysLeft === STATEMENTS_ON.withDifferences) {
      const time = this.momentOf(addDays(date, -3), 17);
      // The calls that report these payments are lost, so the payments are only on the statement.
      for (const { accountId, payer, offer } of this.payingContracts().slice(2, 4))
        this.addTransaction({
          time,
          amount: offer.plan.instalmentAmount,
          reference: formatAccountNumber(accountId),
          payer,
        });
      await this.uploadStatement(date, { isOneReturned: true });
    }
    await this.requestApprovals(daysLeft);
  }

  /** Staff ask for actions that a second person must approve. */
  private async requestApprovals(daysLeft: number): Promise<void> {
    const { context, staff, tools } = this;
    if (!staff) throw new Error('The demo company has no staff.');
    const limited = { ...context, config: { ...context.config, approvalLimitMinor: 0n } };
    if (daysLeft === APPROVALS_ON.decided) {
      await this.reverseMistakes(); // So that `decideRequests` does not choose a payment that is reversed later.
      await tryWebhooks(context, { ...tools, actor: ACTOR }, async () => {
        const reversed = await decideRequests(limited, staff);
        const contract = this.contracts.find(({ accountId }) => accountId === reversed?.accountId);
        if (contract && reversed) contract.sent -= reversed.amount;
      });
    }
    if (daysLeft === APPROVALS_ON.open) {
      await this.payTwice();
      const accountIds = await leaveRequests(limited, staff);
      // A payment would change the credit or the balance that a request is about, and end the request.
      for (const contract of this.contracts)
        if (accountIds.includes(contract.accountId)) contract.isOver = true;
    }
  }

  /** What the imported customers bought: the cheapest product. */
  private importedPlan(): ImportedPlan {
    const offer = this.offers.at(-1);
    if (!offer) throw new Error('There is no offer.');
    const { sku, plan } = offer;
    return { sku, name: plan.name, deposit: plan.deposit, rest: totalOf(plan) - plan.deposit };
  }

  private async receiveUnreadable(at: number): Promise<void> {
    const transaction = this.transactions.at(-1);
    const body = transaction && unreadableCalls(transaction, this.shortCode)[at];
    const reading = body && this.readCall(body);
    if (!reading || !('problems' in reading))
      throw new Error(
        `The demo needs the body of a notification that cannot be read, but this one can be read or is missing: ${body}`,
      );
    const failure = reading.problems.map(({ path, message }) => `${path} ${message}`).join('; ');
    const { readable } = reading;
    await insertRejected(this.context.db, STATEMENT_PROVIDER.name, body, failure, 'webhook', readable);
  }

  /** Staff record payments of mobile money with wrong amounts, before the provider reports the payments. */
  private async typeWrong(date: PlainDate): Promise<void> {
    const time = this.momentOf(date, HOURS.office - 1);
    const methodId = await getMethodId(this.context.db, methodCodeOf(STATEMENT_PROVIDER.name));
    const contracts = this.payingContracts();
    for (const [at, typeAmount] of TYPED_WRONG.entries()) {
      const contract = contracts[at];
      if (!contract) return;
      const { accountId, payer, offer } = contract;
      const amount = offer.plan.instalmentAmount;
      const typed = typeAmount(amount);
      const reference = formatAccountNumber(accountId);
      const transaction = this.addTransaction({ time, amount, reference, payer });
      const recording = { amount: typed, methodId, reference: transaction.id, time };
      await this.post([this.recordedBy(contract, recording)]);
      await this.post([this.reportedBy(transaction)]);
      contract.sent += typed;
      this.payments += 1;
    }
  }

  /** A customer pays the last instalment again, after the account is completed. */
  private async payTwice(): Promise<void> {
    for (const contract of this.contracts) {
      const amount = contract.offer.plan.instalmentAmount;
      if (contract.sent < totalOf(contract.offer.plan) || (await this.read(contract)).status !== 'completed')
        continue;
      const time = this.tools.clock.now();
      const reference = formatAccountNumber(contract.accountId);
      await this.post([
        this.reportedBy(this.addTransaction({ time, amount, reference, payer: contract.payer })),
      ]);
      contract.sent += amount;
      this.payments += 1;
      return;
    }
  }

  /** For each offer, the oldest contract whose customer still pays. */
  private payingContracts(): Contract[] {
    const paying = this.contracts.filter(
      ({ isOver, manner, sent, offer }) =>
        !isOver && manner !== 'stopping' && sent + 5 * offer.plan.instalmentAmount < totalOf(offer.plan),
    );
    return this.offers.flatMap((offer) => paying.find((contract) => contract.offer === offer) ?? []);
  }

  /** Uploads the statement of the seven days before a day, and compares it. */
  private async uploadStatement(date: PlainDate, { isOneReturned = false } = {}): Promise<number> {
    const { context } = this;
    const { BUSINESS_TIMEZONE: timeZone, COMPANY_NAME: organisation } = context.config;
    const transactions = this.transactions
      .filter(({ time }) => {
        const day = businessDay(time, timeZone);
        return day >= addDays(date, -7) && day < date;
      })
      .sort((a, b) => a.time.getTime() - b.time.getTime());
    const returned = isOneReturned ? transactions[0] : undefined;
    const text = statementOf(transactions, { organisation, shortCode: this.shortCode, returned });
    const file = Readable.from([Buffer.from(text)]);
    const by = { actor: ACTOR, caller: ACTOR.name };
    const id = await receiveStatement(context, this.tools.copies, by, { file });
    await this.finishStatement(id);
    return id;
  }

  private async finishStatement(id: number): Promise<void> {
    const { signal } = new AbortController();
    const posting = { ...this.context, queue: openPostingQueue(this.context) };
    await workOnStatement(posting, this.tools.log, id, { isLast: true, signal });
  }

  /** Assigns the payments that have been unmatched since `until` or an earlier day. For some payments, staff find no account. */
  private async assignUnmatched(until: PlainDate): Promise<void> {
    for (const { paymentId, contract } of takeUntil(until, this.unmatched)) {
      if (!contract.isOver && !this.oneIn(25))
        await assignPayment(this.context, ACTOR, paymentId, contract.accountId);
    }
  }

  private async decideKyc(until: PlainDate): Promise<void> {
    for (const { customerId } of takeUntil(until, this.submittedKyc)) {
      if (this.oneIn(30)) continue; // The documents are still missing.
      await updateKyc(this.context, ACTOR, customerId, {
        verificationType: 'national_id',
        verificationStatus: this.oneIn(18) ? 'rejected' : 'verified',
      });
    }
  }

  private async reverseMistakes(): Promise<void> {
    for (const { paymentId, contract, amount } of this.mistakes.splice(0)) {
      await reversePayment(this.context, ACTOR, paymentId, 'entered twice');
      contract.sent -= amount;
    }
  }

  private async reconcileUntil(until: PlainDate, date: PlainDate): Promise<void> {
    const paymentIds = takeUntil(until, this.unreconciled).map(({ paymentId }) => paymentId);
    if (paymentIds.length > 0) await reconcile(this.context, ACTOR, { paymentIds, reconciliationDate: date });
  }

  /** Staff review an account. They sometimes cancel it, refund its credit, or pursue its debt. */
  private async review(contract: Contract, date: PlainDate): Promise<void> {
    if (contract.isOver) return;
    const { manner, startsOn, stopsAfter, offer, sent } = contract;
    const age = daysBetween(startsOn, date);
    if (age > 7 && age < 60 && this.oneIn(300)) {
      await this.changeStatus(contract, 'cancelled', 'the customer returned the system');
      await this.refund(contract);
    } else if (sent > totalOf(offer.plan)) {
      if (this.oneIn(20)) await this.refund(contract);
    } else if (manner === 'stopping' && age > stopsAfter + 50) {
      await this.pursue(contract);
    }
  }

  private async pursue(contract: Contract): Promise<void> {
    const { status } = await this.read(contract);
    const step = PURSUIT.slice(0, contract.pursuitSteps).find(({ from }) => from === status);
    if (step) await this.changeStatus(contract, step.to, step.reason);
  }

  private async changeStatus(contract: Contract, status: AccountStatus, reason: string): Promise<void> {
    await changeAccount(this.context, ACTOR, contract.accountId, { status, reason });
    contract.isOver = isStatusIn(status, 'closed');
  }

  private async refund(contract: Contract): Promise<void> {
    const { credit_minor: credit } = await this.read(contract);
    if (credit === 0) return;
    const amount = amountOf(credit, this.context.currency);
    await refundCredit(this.context, ACTOR, contract.accountId, { amount, reason: 'paid too much' });
    contract.sent -= amount;
  }

  private read({ accountId }: Contract) {
    return this.context.db
      .selectFrom('accounts')
      .select(['status', 'credit_minor'])
      .where('id', '=', accountId)
      .executeTakeFirstOrThrow();
  }

  /** Calculates the commissions of the two months before `date`, and pays those of the earlier month. */
  private async payCommissions(date: PlainDate): Promise<void> {
    const month = (before: number) => addMonthsKeepingDay(firstOfMonth(date), -before).slice(0, 7);
    for (const employeeId of this.agentIds) {
      await calculateCommission(this.context, ACTOR, { employeeId, period: month(1) });
      const earlier = await calculateCommission(this.context, ACTOR, { employeeId, period: month(2) });
      for (const status of ['approved', 'paid'] as const)
        await changeCommission(this.context, ACTOR, earlier.commission.id, { status });
    }
  }

  /** Moves the clock. @returns false if the time is after the end of the year; the clock then stays. */
  private moveTo(date: PlainDate, hour: number): boolean {
    const moment = this.momentOf(date, hour);
    if (moment > this.now) return false;
    this.tools.clock.set(moment);
    return true;
  }

  private momentOf(date: PlainDate, hour: number): Date {
    const start = startOfDayUtc(date, this.context.config.BUSINESS_TIMEZONE);
    return new Date(start.getTime() + hour * HOUR_MS);
  }

  private pickOffer(): Offer {
    let chance = this.random(this.offers.reduce((sum, { share }) => sum + share, 0));
    const offer = this.offers.find(({ share }) => {
      chance -= share;
      return chance < 0;
    });
    if (!offer) throw new Error('There is no offer.');
    return offer;
  }

  private pick<T>(choices: readonly T[]): T {
    const choice = choices[this.random(choices.length)];
    if (choice === undefined) throw new Error('The list of choices is empty.');
    return choice;
  }

  private oneIn(n: number): boolean {
    return this.random(n) === 0;
  }

  /** Swaps two digits of an account number, or changes one if both are the same. */
  private mistype(number: string): string {
    const at = number.length - 2 - this.random(3);
    const [a = '', b = ''] = number.slice(at, at + 2);
    return number.slice(0, at) + (a === b ? `${a}${(Number(b) + 1) % 10}` : b + a) + number.slice(at + 2);
  }
}

/** Removes and returns the items that have waited since `day` or an earlier day. */
function takeUntil<Item extends { since: PlainDate }>(day: PlainDate, waiting: Item[]): Item[] {
  const due = waiting.filter(({ since }) => since <= day);
  waiting.splice(0, waiting.length, ...waiting.filter(({ since }) => since > day));
  return due;
}

/** @param at - the position of the customer in the cycle, from 0. */
function mannerOf(at: number): Manner {
  if (at === 11) return 'stopping';
  if (at === 4) return 'generous';
  return at % 6 === 1 ? 'late' : 'steady';
}

function createRandom(seed: number): (below: number) => number {
  const generator = xoroshiro128plus(seed);
  return (below) => uniformInt(generator, 0, below - 1);
}

type EqualPlan = NewPayPlan &
  Required<Pick<NewPayPlan, 'instalmentAmount' | 'instalmentCount' | 'frequency'>>;

/** A pay plan, with amounts in whole units. */
function plan(
  name: string,
  [deposit, instalmentAmount, instalmentCount, frequency]: [number, number, number, Frequency],
  rules: Pick<NewPayPlan, 'graceDays' | 'autoSuspend'>,
): EqualPlan {
  return { name, deposit, instalmentAmount, instalmentCount, frequency, ...rules };
}

/** The terms of a plan, with amounts in whole units. */
function termsOf({ deposit, instalmentAmount, instalmentCount, frequency }: EqualPlan): PlanTerms {
  return {
    depositMinor: BigInt(deposit),
    instalmentMinor: BigInt(instalmentAmount),
    ...{ instalmentCount, frequency },
  };
}

/** The total of a plan, in whole units. */
function totalOf(plan: EqualPlan): number {
  return Number(totalMinor(termsOf(plan)));
}
