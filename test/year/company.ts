import { expect } from 'vitest';
import type { createRandom } from '../../tools/simulator/traffic.ts';
import { inParallel, read } from '../acceptance/client.ts';
import type { RunningService } from '../acceptance/process.ts';
import { send } from '../faults/clients.ts';
import type { RawCreditMove, RawPayment, RawTerms } from '../support/expected-figures.ts';

type Random = ReturnType<typeof createRandom>;

/** The weekly pay plans of the company. Amounts are in whole units, as in every request. */
const WEEKLY_PLANS = [
  { name: 'Year', deposit: 2_000, instalmentAmount: 400, instalmentCount: 52, graceDays: 7 },
  { name: 'Year, watched', deposit: 1_500, instalmentAmount: 350, instalmentCount: 52, graceDays: 7 },
  { name: 'Half a year, watched', deposit: 1_000, instalmentAmount: 650, instalmentCount: 26, graceDays: 3 },
  { name: 'No deposit, watched', deposit: 0, instalmentAmount: 245.5, instalmentCount: 40, graceDays: 14 },
].map((plan) => ({
  ...plan,
  frequency: 'weekly' as const,
  autoSuspend: plan.name.endsWith('watched'),
}));

/** Farmers pay after harvests, but many of them pay in advance, week by week. */
const HARVEST_PLAN = {
  name: 'Two harvests a year, watched',
  price: 20_000,
  deposit: 1_200,
  roundingUnit: 100,
  harvest: {
    entries: [
      { month: 3, day: 15, shareBasisPoints: 6_000 },
      { month: 9, day: 30, shareBasisPoints: 4_000 },
    ],
    cycles: 2,
    leadDays: 30,
  },
  graceDays: 14,
  autoSuspend: true,
};

/** How a customer pays: on the due date, some weeks late, more than is due, or on time until some week and then nothing. */
type Manner = 'steady' | 'late' | 'generous' | 'losing';

/** An account, and what the company knows about it without the service. */
export interface Contract {
  id: number;
  accountNumber: string;
  phone: string;
  manner: Manner;
  deposit: bigint;
  instalment: bigint;
  total: bigint;
  /** The day of the year on which the account was opened, from 0. */
  firstDay: number;
  /** The number of payments for an instalment. */
  parts: number;
  /** The week after which a losing customer pays nothing. */
  lastWeek: number;
  /** What the customer has sent, in hundredths, including money that waits to be assigned. */
  paid: bigint;
  stage: 'open' | 'given up' | 'cancelled';
  hasHarvests: boolean;
  /** The customer has paid for a neighbour by mistake. The service does not match the next payment for the same neighbour. */
  hasStrayed: boolean;
}

/** A sent payment, as the service must show it. */
export interface SentPayment extends RawPayment {
  id: number;
}

interface Waiting {
  payment: SentPayment;
  contract: Contract;
}

const PROVIDER_METHOD = 1;
const CASH = 2;
const AT_ONCE = 8;
const DAY_MS = 86_400_000;
const WEBHOOK = '/api/webhooks/payments/mobilemoney';

/** Once a week, staff do the work of the office. */
export const isMeetingDay = (day: number) => day % 7 === 4;

/** The times of a day at which something happens. The clock never goes back, because that would change the order of what happened. */
const STRANGER_PAYS = ['T16:51:00Z', 'T17:05:00Z'] as const;
export const eveningOf = (date: string) => `${date}T17:00:00Z`;
const meetingOf = (date: string) => `${date}T17:09:00Z`;

/** The minute jobs have run when it returns. */
export async function setClock(service: RunningService, now: string): Promise<void> {
  const answer = await service.call('PUT', '/test/clock', { now });
  expect(answer.status, answer.text).toBe(200);
}

export const hundredths = (amount: number) => BigInt(Math.round(amount * 100));
export const units = (minor: bigint) => Number(minor) / 100;

/**
 * A company that sells on weekly plans for a year. It does everything through the API and records what it sent, so that the books
 * can be compared with it. The same seed gives the same year.
 */
export class Company {
  readonly contracts: Contract[] = [];
  readonly payments: SentPayment[] = [];
  readonly creditMoves: RawCreditMove[] = [];
  /** The schedules of accounts with harvests, and of those whose plan was changed, by the id of the account. */
  readonly terms = new Map<number, RawTerms[]>();
  /** The accounts whose plan was changed. */
  readonly changed = new Set<number>();
  /** For each account whose plan had an undo: the day of the newest undo, from which its days of grace are counted. */
  readonly graceFrom = new Map<number, string>();
  /** The number of actions of each kind. */
  readonly counts: Record<string, number> = {};
  private readonly service: RunningService;
  private readonly token: string;
  private readonly random: Random;
  private readonly year: number;
  private readonly planIds: number[] = [];
  private readonly openingDays: number[];
  /** Payments with an unknown reference. Some of them match by what the service has learned. */
  private mistyped: Waiting[] = [];
  private misdirected: Waiting[] = [];
  private mistaken: Waiting[] = [];
  private transactions = 0;

  constructor(
    service: RunningService,
    token: string,
    { year, accounts, random }: { year: number; accounts: number; random: Random },
  ) {
    this.service = service;
    this.token = token;
    this.year = year;
    this.random = random;
    // More at the beginning of the year than at its end, so that most accounts have a history of months.
    this.openingDays = Array.from({ length: accounts }, () => {
      const part = random(10_000) / 10_000;
      return Math.floor(350 * part ** 2);
    }).sort((a, b) => a - b);
  }

  async addPlans(): Promise<void> {
    for (const plan of [...WEEKLY_PLANS, HARVEST_PLAN])
      this.planIds.push((await this.post('/payplans', plan)).id);
  }

  /** The date of the n-th day of the year, from 0. */
  date(day: number): string {
    return new Date(Date.UTC(this.year, 0, 1) + day * DAY_MS).toISOString().slice(0, 10);
  }

  /** The sum that was sent to each account, in hundredths. */
  paidByAccount(): Map<number, bigint> {
    const paid = new Map<number, bigint>();
    const add = (id: number | null, amount: bigint) => {
      if (id !== null) paid.set(id, (paid.get(id) ?? 0n) + amount);
    };
    for (const { accountId, status, amount } of this.payments) {
      if (status === 'matched') add(accountId, hundredths(amount));
    }
    for (const { accountId, toAccountId, amount } of this.creditMoves) {
      add(accountId, -hundredths(amount));
      add(toAccountId, hundredths(amount));
    }
    return paid;
  }

  /** Does everything that happens on a day. */
  async live(day: number): Promise<void> {
    const [early, late] = STRANGER_PAYS;
    await this.payAsStranger(day, early);
    await setClock(this.service, eveningOf(this.date(day)));
    while ((this.openingDays[0] ?? Number.POSITIVE_INFINITY) <= day) {
      this.openingDays.shift();
      await this.open(day);
    }
    const payments = this.contracts.flatMap((contract) => this.intentions(contract, day));
    await inParallel(AT_ONCE, payments, (pay) => pay());
    await this.payAsStranger(day, late);
    if (isMeetingDay(day)) await this.workInTheOffice(day);
  }

  /**
   * Somebody without an account pays a small amount. Without it, minute jobs could find the provider silent for longer than in other weeks,
   * because some days have fewer payments, and would suspend nobody. They look only if nothing was heard for ten minutes.
   */
  private async payAsStranger(day: number, time: (typeof STRANGER_PAYS)[number]): Promise<void> {
    const date = this.date(day);
    await setClock(this.service, `${date}${time}`);
    const payment = this.addPayment(date, 100n);
    const fields = this.notificationOf(day, 100n, { reference: 'BREAD', phone: '254799999999' });
    await this.notify(payment, fields, false);
    expect(payment.status).toBe('unmatched');
  }

  private notificationOf(
    day: number,
    amount: bigint,
    { reference, phone }: { reference: string; phone: string },
  ) {
    const number = this.transactions++;
    const second = this.random(13 * 3_600);
    return {
      TransactionType: 'Pay Bill',
      TransID: `Y${String(number).padStart(9, '0')}`,
      TransTime: `${this.date(day).replaceAll('-', '')}${clockText(6 * 3_600 + second)}`,
      TransAmount: `${amount / 100n}.${String(amount % 100n).padStart(2, '0')}`,
      BusinessShortCode: '600638',
      BillRefNumber: reference,
      MSISDN: phone,
      FirstName: 'CUSTOMER',
    };
  }

  private async open(day: number): Promise<void> {
    const at = this.random(this.planIds.length);
    const plan = WEEKLY_PLANS[at];
    const { deposit, instalment, total } = plan
      ? {
          deposit: plan.deposit,
          instalment: plan.instalmentAmount,
          total: plan.deposit + plan.instalmentAmount * plan.instalmentCount,
        }
      : { deposit: HARVEST_PLAN.deposit, instalment: 300, total: HARVEST_PLAN.price };
    const number = this.contracts.length + 1;
    const phone = `2547${String(10_000_000 + number * 7)}`;
    const customer = await this.post('/customers', {
      firstName: 'Customer',
      lastName: `Number ${number}`,
      phone: `+${phone}`,
    });
    // Some accounts begin in a few days, and some are recorded a few days after they began.
    const shift = this.oneIn(20) ? 1 + this.random(9) : this.oneIn(25) ? -1 - this.random(9) : 0;
    const account = await this.post('/accounts', {
      customerId: customer.id,
      productId: 1 + this.random(4),
      payplanId: this.planIds[at],
      activationDate: this.date(day + shift),
    });
    const chance = this.random(100);
    const contract: Contract = {
      id: account.id,
      accountNumber: account.accountNumber,
      phone,
      manner: chance < 55 ? 'steady' : chance < 78 ? 'late' : chance < 90 ? 'generous' : 'losing',
      deposit: hundredths(deposit),
      instalment: hundredths(instalment),
      total: hundredths(total),
      firstDay: day,
      parts: [1, 2, 2, 3, 3][this.random(5)] ?? 1,
      lastWeek: 2 + this.random(20),
      paid: 0n,
      stage: 'open',
      hasHarvests: !plan,
      hasStrayed: false,
    };
    expect(hundredths(account.total)).toBe(contract.total);
    this.contracts.push(contract);
    if (contract.hasHarvests) await this.readTerms(contract, '');
    this.count('accounts');
    if (contract.deposit > 0n) await this.pay(contract, contract.deposit, day)();
  }

  /** The payments that the customer of a contract makes on a day. */
  private intentions(contract: Contract, day: number): (() => Promise<void>)[] {
    const { manner, instalment, parts, firstDay, stage } = contract;
    const age = day - firstDay;
    const owed = contract.total - contract.paid;
    if (stage === 'cancelled' || age < 7) return [];
    if (stage === 'given up') {
      return this.oneIn(60) ? [this.pay(contract, instalment * BigInt(1 + this.random(4)), day)] : [];
    }
    if (manner === 'losing' && age > contract.lastWeek * 7) return [];
    if (owed <= 0n) return [];
    if (manner === 'generous' && this.oneIn(9)) return [this.pay(contract, instalment * 2n + 5_000n, day)];
    if (manner === 'late') {
      if (!this.oneIn(9)) return [];
      const weeks = BigInt(Math.floor(age / 7));
      const late = contract.deposit + weeks * instalment - contract.paid;
      const amount = late < instalment ? instalment : (late * BigInt(40 + this.random(80))) / 100n;
      return [this.pay(contract, amount, day)];
    }
    const isPayday = [0, 2, 4].slice(0, parts).includes(age % 7);
    if (!isPayday || this.oneIn(40)) return [];
    // The last part is the rest of the instalment.
    const part = instalment / BigInt(parts);
    const amount = age % 7 === 0 ? instalment - part * BigInt(parts - 1) : part;
    return [this.pay(contract, amount, day)];
  }

  /**
   * Chooses how a payment is made. The payment is recorded here, not when the service answers, so that the order of payments, and
   * with it all later choices, does not depend on which answer comes first.
   * @returns a function that makes the payment.
   */
  private pay(contract: Contract, amount: bigint, day: number): () => Promise<void> {
    contract.paid += amount;
    const chance = this.random(1_000);
    if (chance < 40) {
      const back = this.oneIn(3) ? this.random(Math.min(12, day + 1)) : 0;
      return this.payByHand(contract, amount, day - back, chance < 5);
    }
    const { accountNumber, phone } = contract;
    const fields = this.notificationOf(day, amount, { reference: accountNumber, phone });
    const isRepeated = this.oneIn(60);
    const payment = this.addPayment(this.date(day), amount);
    if (chance < 75) {
      // A mistyped number or a word. Because of the check digit, the payment must not match any other account.
      const typed = [this.slip(accountNumber), `SOLAR ${this.transactions}`, 'HOME'][this.random(3)] ?? '';
      this.mistyped.push({ payment, contract });
      return async () => {
        await this.notify(payment, { ...fields, BillRefNumber: typed }, isRepeated);
        // After staff have assigned it, the same word from the same phone matches the account.
        if (payment.status === 'matched') payment.accountId = contract.id;
        this.count(payment.status === 'matched' ? 'matched by what was learned' : 'mistyped');
      };
    }
    const neighbour = this.contracts[this.random(this.contracts.length)];
    if (chance < 80 && neighbour && neighbour !== contract && !contract.hasStrayed) {
      contract.hasStrayed = true;
      neighbour.paid += amount;
      contract.paid -= amount;
      this.misdirected.push({ payment, contract });
      return async () => {
        await this.notify(payment, { ...fields, BillRefNumber: neighbour.accountNumber }, isRepeated);
        expect(payment.status).toBe('matched');
        payment.accountId = neighbour.id;
        this.count('on a neighbour’s account');
      };
    }
    return async () => {
      await this.notify(payment, fields, isRepeated);
      expect(payment.status, fields.TransID).toBe('matched');
      payment.accountId = contract.id;
    };
  }

  private payByHand(contract: Contract, amount: bigint, day: number, isMistake: boolean) {
    const payment = this.addPayment(this.date(day), amount);
    if (isMistake) this.mistaken.push({ payment, contract });
    return async () => {
      const { id, status } = await this.post('/payments', {
        accountId: contract.id,
        amount: units(amount),
        paymentMethodId: CASH,
        paymentDate: this.date(day),
      });
      Object.assign(payment, { id, accountId: contract.id, status });
      this.count('by hand');
    };
  }

  /** Sends the notification of a payment, and records the answer in the payment. */
  private async notify(
    payment: SentPayment,
    fields: Record<string, string>,
    isRepeated: boolean,
  ): Promise<void> {
    const first = await this.deliver(fields);
    expect(['matched', 'unmatched']).toContain(first.outcome);
    if (isRepeated) {
      const second = await this.deliver(fields);
      expect(second).toEqual({ outcome: 'repeated', paymentId: first.paymentId });
      this.count('notifications repeated');
    }
    this.count('notifications');
    Object.assign(payment, { id: first.paymentId, status: first.outcome });
  }

  private async deliver(body: Record<string, string>): Promise<{ outcome: string; paymentId: number }> {
    const { status, body: text } = await send(this.service.origin, 'POST', WEBHOOK, { body });
    expect(status, text).toBe(200);
    return JSON.parse(text).data;
  }

  /** Adds a payment. The answer of the service adds its id, its account and its status. */
  private addPayment(paymentDate: string, amount: bigint): SentPayment {
    const payment = { id: 0, accountId: null, status: 'unsent', paymentDate, amount: units(amount) };
    this.payments.push(payment);
    return payment;
  }

  /** The weekly work of staff. */
  private async workInTheOffice(day: number): Promise<void> {
    await this.assignMistyped();
    await this.moveMisdirected();
    await this.reverseMistakes(day);
    // Runs the minute jobs now. They suspend the accounts that became late by these changes. If they ran at their own time, staff
    // and the check of the policy would see such an account suspended in some runs of the test, and active in others.
    await setClock(this.service, meetingOf(this.date(day)));
    for (const contract of this.contracts) {
      const age = day - contract.firstDay;
      const hasStopped = contract.manner === 'losing' && age > (contract.lastWeek + 5) * 7;
      if (contract.stage === 'open' && hasStopped) await this.pursue(contract);
      else if (contract.stage === 'open' && age > 7 && age < 70 && this.oneIn(700))
        await this.cancel(contract);
      else if (contract.stage === 'open' && this.oneIn(900)) await this.holdForAWhile(contract);
      else if (contract.stage === 'open' && this.oneIn(200)) await this.changePlan(contract, day);
      else if (this.changed.has(contract.id) && this.oneIn(40)) await this.changePlan(contract, day);
      if (contract.paid > contract.total && this.oneIn(2)) await this.giveBack(contract);
    }
  }

  private async assignMistyped(): Promise<void> {
    for (const one of this.mistyped.splice(0)) {
      if (one.payment.status === 'matched') continue;
      // Staff do not find the account of some payments.
      if (this.oneIn(30)) {
        one.contract.paid -= hundredths(one.payment.amount);
        this.count('never assigned');
        continue;
      }
      await this.post(`/payments/${one.payment.id}/assign`, { accountId: one.contract.id });
      Object.assign(one.payment, { status: 'matched', accountId: one.contract.id });
      this.count('assigned');
    }
  }

  private async moveMisdirected(): Promise<void> {
    for (const { payment, contract } of this.misdirected.splice(0)) {
      const neighbour = this.contracts.find(({ id }) => id === payment.accountId);
      if (!neighbour) throw new Error('The neighbour is not there.');
      await this.post(`/payments/${payment.id}/unassign`, { reason: 'the payer typed the wrong number' });
      await this.post(`/payments/${payment.id}/assign`, { accountId: contract.id });
      payment.accountId = contract.id;
      neighbour.paid -= hundredths(payment.amount);
      contract.paid += hundredths(payment.amount);
      this.count('re-assigned');
    }
  }

  private async reverseMistakes(day: number): Promise<void> {
    for (const { payment, contract } of this.mistaken.splice(0)) {
      await this.post(`/payments/${payment.id}/reverse`, { reason: 'entered twice' });
      payment.status = 'reversed';
      contract.paid -= hundredths(payment.amount);
      this.count('reversed');
    }
    // The provider takes back one of the latest payments.
    const recent =
      this.payments[this.payments.length - 1 - this.random(1 + Math.floor(this.payments.length / 10))];
    if (recent?.status !== 'matched' || day % 2 === 0) return;
    const contract = this.contracts.find(({ id }) => id === recent.accountId);
    if (!contract || this.misdirected.some(({ payment }) => payment === recent)) return;
    await this.post(`/payments/${recent.id}/reverse`, { reason: 'taken back by the provider' });
    recent.status = 'reversed';
    contract.paid -= hundredths(recent.amount);
    this.count('reversed');
  }

  /** Moves an account whose customer has stopped paying one step closer to its end, once a week. */
  private async pursue(contract: Contract): Promise<void> {
    const { status } = await this.accountNow(contract);
    const next: Record<string, string[]> = {
      active: ['suspended'],
      suspended: ['defaulted', 'written_off'],
      defaulted: ['repossessed', 'written_off'],
      repossessed: ['written_off'],
    };
    const choices = next[status] ?? [];
    const to = choices[this.random(Math.max(1, choices.length))];
    if (to === undefined) return;
    await this.move(contract, to);
    if (to === 'written_off') contract.stage = 'given up';
  }

  private async cancel(contract: Contract): Promise<void> {
    const { status } = await this.accountNow(contract);
    if (!['pending', 'active', 'suspended'].includes(status)) return;
    await this.move(contract, 'cancelled');
    contract.stage = 'cancelled';
    await this.giveBack(contract);
  }

  /** Staff suspend an account, or end a suspension. The policy must not reactivate accounts that staff suspended. */
  private async holdForAWhile(contract: Contract): Promise<void> {
    const { status } = await this.accountNow(contract);
    if (status === 'active') await this.move(contract, 'suspended');
    else if (status === 'suspended') await this.move(contract, 'active');
  }

  /** Changes the plan of an account, if a change of the chosen kind is possible. */
  private async changePlan(contract: Contract, day: number): Promise<void> {
    const body = this.choosePlanChange(contract, day);
    const path = `/accounts/${contract.id}/plan-changes`;
    const shown = await this.service.call('POST', path, body, { token: this.token });
    if (shown.status !== 200) {
      expect(shown.body.error?.code, shown.text).toBe('VALIDATION_ERROR');
      this.count(`${body.kind} refused`);
      return;
    }
    if (!this.terms.has(contract.id)) await this.readTerms(contract, '');
    const { version, paid } = shown.body.data;
    const { effectiveOn } = await this.post(path, { ...body, confirm: { version, paid } });
    expect(effectiveOn).toBe(this.date(day));
    this.changed.add(contract.id);
    if (body.kind === 'undo') this.graceFrom.set(contract.id, effectiveOn);
    await this.readTerms(contract, effectiveOn);
    this.count(body.kind);
  }

  private choosePlanChange({ hasHarvests }: Contract, day: number) {
    const reason = 'agreed in the weekly meeting';
    const amount = 50 * (1 + this.random(12));
    const arrears = this.oneIn(2);
    switch (this.random(8)) {
      case 0:
        return { kind: 'discount', amount, reason };
      case 1:
        return { kind: 'price_correction', amount, reason };
      case 2: {
        const consent = 'signed in the shop';
        const dues = [{ date: this.date(day + 200), amount }];
        return { kind: 'price_rise', amount, reason, consent, ...(hasHarvests && { dues }) };
      }
      case 3: {
        const spread = { firstDueDate: this.date(day + 7), instalmentCount: 10 + this.random(30) };
        return {
          kind: 'revision',
          ...spread,
          frequency: 'weekly',
          arrears: arrears ? 'move' : 'stay',
          reason,
        };
      }
      case 4:
        return { kind: 'undo', reason };
      default: {
        const by = hasHarvests ? { days: 15 * (1 + this.random(4)) } : { periods: 1 + this.random(4) };
        const moved = arrears && !hasHarvests ? 'behind' : 'stay';
        return { kind: 'deferral', from: this.date(day + 1), ...by, arrears: moved, reason };
      }
    }
  }

  /** Records the schedule that an account has from a day on. */
  private async readTerms(contract: Contract, from: string): Promise<void> {
    const { items } = await read(this.service, this.token, `/accounts/${contract.id}/schedule`);
    const before = this.terms.get(contract.id) ?? [];
    this.terms.set(contract.id, [...before, { from, items }]);
    contract.total = (items as { amount: number }[]).reduce((sum, item) => sum + hundredths(item.amount), 0n);
  }

  /** Credit goes to another account of the family, or back to the customer. */
  private async giveBack(contract: Contract): Promise<void> {
    const { credit } = await this.accountNow(contract);
    if (credit === 0) return;
    const other = this.contracts[this.random(this.contracts.length)];
    const amount = this.oneIn(3) ? units((hundredths(credit) + 1n) / 2n) : credit;
    const body = { amount, reason: 'paid too much' };
    const isTransfer = this.oneIn(2) && other !== undefined && other !== contract && other.stage === 'open';
    const move = isTransfer
      ? await this.post(`/accounts/${contract.id}/credit/transfer`, { ...body, toAccountId: other.id })
      : await this.post(`/accounts/${contract.id}/credit/refund`, {
          ...body,
          paymentMethodId: PROVIDER_METHOD,
        });
    contract.paid -= hundredths(amount);
    if (isTransfer) other.paid += hundredths(amount);
    const { accountId, toAccountId, valueDate } = move;
    this.creditMoves.push({ accountId, toAccountId, valueDate, amount });
    this.count(isTransfer ? 'credit transferred' : 'credit refunded');
  }

  private async move({ id }: Contract, status: string): Promise<void> {
    const body = { status, reason: 'decided in the weekly meeting' };
    const answer = await this.service.call('PUT', `/accounts/${id}`, body, { token: this.token });
    expect(answer.status, answer.text).toBe(200);
    this.count(status);
  }

  private accountNow({ id }: Contract) {
    return read(this.service, this.token, `/accounts/${id}`);
  }

  private async post(path: string, body: unknown) {
    const answer = await this.service.call('POST', path, body, { token: this.token });
    expect([200, 201], answer.text).toContain(answer.status);
    return answer.body.data;
  }

  /** One wrong digit, or two adjacent digits swapped. */
  private slip(accountNumber: string): string {
    const at = 3 + this.random(accountNumber.length - 4);
    const [a = '', b = ''] = accountNumber.slice(at, at + 2);
    const [first, second] = a === b ? [String((Number(a) + 1) % 10), b] : [b, a];
    return `${accountNumber.slice(0, at)}${first}${second}${accountNumber.slice(at + 2)}`;
  }

  private oneIn(n: number): boolean {
    return this.random(n) === 0;
  }

  private count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}

/** Seconds of a day as hhmmss. */
function clockText(seconds: number): string {
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join('');
}
