import { formatAccountNumber } from './accounts/account-number-rules.ts';
import { bulkDeferralRoutes } from './accounts/bulk-deferrals/routes.ts';
import { creditRoutes } from './accounts/credit/routes.ts';
import { planChangeRoutes } from './accounts/plan-changes/routes.ts';
import { accountRoutes } from './accounts/routes.ts';
import { employeeRoutes } from './catalogue/employees/routes.ts';
import { payPlanRoutes } from './catalogue/pay-plans/routes.ts';
import { paymentMethodRoutes } from './catalogue/payment-methods/routes.ts';
import { productRoutes } from './catalogue/products/routes.ts';
import { auditRoutes } from './changes/audit/routes.ts';
import { createFeed } from './changes/events/feed.ts';
import type { HorizonReader } from './changes/events/feed-horizon.ts';
import { eventRoutes } from './changes/events/routes.ts';
import { readDeliveryState } from './changes/webhook-endpoints/delivery-store.ts';
import { webhookEndpointRoutes } from './changes/webhook-endpoints/routes.ts';
import { callListRoutes } from './collections/call-list/routes.ts';
import { callRoutes } from './collections/calls/routes.ts';
import { promiseRoutes } from './collections/promises/routes.ts';
import { resultRoutes } from './collections/results/routes.ts';
import { commissionRoutes } from './commissions/routes.ts';
import { guardRoutes } from './core/http/access.ts';
import type { Api } from './core/http/api.ts';
import { openBulkSlots } from './core/http/bulk.ts';
import { compressJson } from './core/http/compression.ts';
import { AppError } from './core/http/errors.ts';
import { addEtags } from './core/http/etags.ts';
import { refuseUnusableKeys } from './core/http/idempotency.ts';
import { shedLoad } from './core/http/load-shedding.ts';
import { pathOf } from './core/http/path.ts';
import { createLimiter, createLimiters, GUESSES } from './core/http/rate-limit.ts';
import type { SharedRedis } from './core/http/redis.ts';
import { createHttpServer, type HttpServer } from './core/http/server.ts';
import type { Log } from './core/log.ts';
import type { Stopwatch } from './core/values/dates.ts';
import { kycRoutes } from './customers/kyc/routes.ts';
import { noteRoutes } from './customers/notes/routes.ts';
import { customerRoutes } from './customers/routes.ts';
import { statementRoutes } from './documents/account-statements/routes.ts';
import { invoiceRoutes } from './documents/invoices/routes.ts';
import { receiptRoutes } from './documents/receipts/routes.ts';
import { providerStatusRoutes } from './mobile-money/lost-notifications/routes.ts';
import { readProviderStatus } from './mobile-money/lost-notifications/view.ts';
import { findSilentProviders } from './mobile-money/lost-notifications/watch-store.ts';
import { paymentRequestRoutes } from './mobile-money/payment-requests/routes.ts';
import { providerStatementRoutes } from './mobile-money/provider-statements/routes.ts';
import { createRefusedCallLog } from './mobile-money/providers/refused-calls.ts';
import { providerRoutes } from './mobile-money/providers/routes.ts';
import { statusQueryRoutes } from './mobile-money/status-queries/routes.ts';
import { cashRoutes } from './payments/cash/routes.ts';
import { cashLeftBehind } from './payments/cash/view.ts';
import { notificationRoutes } from './payments/notifications/routes.ts';
import type { PostingContext } from './payments/posting/post-payments.ts';
import { reconciliationRoutes } from './payments/reconciliations/routes.ts';
import { paymentRoutes } from './payments/routes.ts';
import { describeApi } from './platform/api-docs/description.ts';
import { DOCS_PATH, docsRoutes } from './platform/api-docs/pages.ts';
import { startPageRoute } from './platform/api-docs/start-page.ts';
import { consoleRoutes, isConsoleNavigation } from './platform/console/routes.ts';
import { createCachedReader } from './platform/health/cached-reader.ts';
import { metricsRoutes } from './platform/health/metrics.ts';
import { healthRoutes } from './platform/health/routes.ts';
import { createHealthCheck } from './platform/health/status.ts';
import { createPrinter } from './platform/printing/printer.ts';
import { testClockRoutes } from './platform/test-clock/routes.ts';
import type { SettableClock } from './platform/test-clock/settable-clock.ts';
import { exportRoutes } from './portfolio/export/routes.ts';
import { importRoutes } from './portfolio/import/routes.ts';
import { listFileRoutes } from './reports/list-files/routes.ts';
import { overviewRoutes } from './reports/overviews/routes.ts';
import { findLastResult } from './reports/proof/result-store.ts';
import { proofRoutes } from './reports/proof/routes.ts';
import { reportRoutes } from './reports/routes.ts';
import { searchRoutes } from './reports/search/routes.ts';
import { timelineRoutes } from './reports/timeline/routes.ts';
import { refusalOf } from './rights.ts';
import { createUseRecorder } from './staff/api-keys/commands.ts';
import { apiKeyRoutes } from './staff/api-keys/routes.ts';
import { approvalRoutes } from './staff/approvals/routes.ts';
import { createAccessTokens, createSessionReader } from './staff/auth/access-tokens.ts';
import { browserSessionRoutes } from './staff/auth/browser-session-routes.ts';
import type { AuthParts } from './staff/auth/commands.ts';
import { createIdentityProviders } from './staff/auth/identity-providers.ts';
import { authRoutes } from './staff/auth/routes.ts';
import { userRoutes } from './staff/users/routes.ts';
import { APPROVABLE_ACTIONS } from './start/approvable-actions.ts';
import type { Pools } from './start/pools.ts';
import { settingsRoutes } from './start/settings/routes.ts';

export interface AppParts
  extends Pick<
    Pools,
    | 'pool'
    | 'copies'
    | 'streams'
    | 'verifier'
    | 'summaries'
    | 'reports'
    | 'replica'
    | 'probe'
    | 'refusedWrites'
  > {
  context: PostingContext;
  /**
   * Measures how long this instance keeps credentials, metadata of identity providers and the money of today in its caches, and how
   * often it warns of refused calls.
   */
  stopwatch: Stopwatch;
  /** Shared by all code of this instance that reads events. */
  horizon: HorizonReader;
  log: Log;
  redis: SharedRedis | undefined;
  version: string;
  /** The folder with the built staff console. If undefined, a start page is served instead. */
  consoleFolder: string | undefined;
  /** The kind of database that /metrics shows, such as `embedded PostgreSQL`. */
  databaseKind: string;
  /** When this instance last completed the minute jobs. */
  jobsCompletedAt(): Date | undefined;
  /** How often this instance attempted to deliver an event, by outcome. */
  deliveryCounts(): Readonly<Record<string, number>>;
  /** How many calls about payment requests this instance made to the provider, by result. */
  requestCounts(): Readonly<Record<string, number>>;
  /** False after the process has started to stop. */
  isAccepting(): boolean;
  /** Only with TEST_CLOCK=on. */
  testClock?: SettableClock;
}

/** Assembles the HTTP service. Opens no connection. */
export function buildApp({
  context,
  stopwatch,
  horizon,
  copies,
  streams,
  verifier,
  summaries,
  reports,
  replica,
  pool,
  probe,
  refusedWrites,
  log,
  redis,
  version,
  consoleFolder,
  databaseKind,
  jobsCompletedAt,
  deliveryCounts,
  requestCounts,
  isAccepting,
  testClock,
}: AppParts): HttpServer {
  const { config } = context;
  const limiters = createLimiters(config, redis);
  const parts: AuthParts = {
    tokens: createAccessTokens(context.secret, config.ACCESS_TOKEN_TTL),
    guesses: createLimiter('guesses', GUESSES.limit, GUESSES.windowSeconds, redis),
    limiters,
    providers: createIdentityProviders(config.limits, log, stopwatch),
  };
  const apiKeyUses = createUseRecorder(context, log, stopwatch);
  const sessions = createSessionReader(context, parts.tokens, apiKeyUses, stopwatch);

  const printer = createPrinter(config);

  const feed = createFeed(context.db, horizon);
  const bulkSlots = openBulkSlots(config.DATABASE_POOL_SIZE, config.limits);

  const app = createHttpServer(context, log);
  // Compression comes first, so that load shedding counts the compressed bytes.
  compressJson(app, { mayContainTokens: (route) => /^\/api(\/v1)?\/auth\//.test(route) });
  shedLoad(app);
  guardRoutes(app, {
    identify: sessions.identify,
    refusalOf,
    limiters,
    rateWithoutRoute: (request) =>
      consoleFolder !== undefined && isConsoleNavigation(request) ? 'pages' : 'general',
  });
  refuseUnusableKeys(app);
  addEtags(app);
  app.decorate('refusedCalls', createRefusedCallLog(stopwatch));
  describeApi(app, version, config.publicUrl ?? `http://localhost:${config.PORT}`);
  app.addHook('onReady', async () => {
    if (config.companyLogo) await printer.checkLogo();
  });
  app.addHook('onClose', async () => printer.close());
  app.addHook('preClose', async () => bulkSlots.close());
  app.addHook('onClose', () => apiKeyUses.close());
  app.addHook('preClose', async () => feed.close());
  const sendConsole = consoleFolder === undefined ? undefined : consoleRoutes(app, consoleFolder);
  app.setNotFoundHandler((request, reply) => {
    if (sendConsole && isConsoleNavigation(request)) return sendConsole(request, reply);
    throw unknownAddress(request.method, request.url);
  });

  if (config.METRICS_TOKEN !== '')
    metricsRoutes(app, config.METRICS_TOKEN, {
      db: context.db,
      pool,
      redis,
      replica,
      refusedWrites,
      version,
      databaseKind,
      jobsCompletedAt,
      webhooks: { counts: deliveryCounts, readState: readDeliveryState },
      requestCounts,
      readProviders: (db) => readProviderStatus({ db }),
      readLastProof: findLastResult,
    });

  function v1(api: Api): void {
    authRoutes(api, context, { parts, sessions });
    browserSessionRoutes(api, context, { parts, sessions });
    settingsRoutes(api, context, version);
    userRoutes(api, context, (user) => cashLeftBehind(context, user));
    apiKeyRoutes(api, context);
    customerRoutes(api, context, bulkSlots);
    kycRoutes(api, context);
    noteRoutes(api, context, { formatAccount: formatAccountNumber });
    accountRoutes(api, context, { slots: bulkSlots, summaries });
    statementRoutes(api, context, printer);
    paymentRoutes(api, context, { slots: bulkSlots, summaries });
    paymentRequestRoutes(api, context);
    notificationRoutes(api, context);
    providerStatusRoutes(api, context);
    statusQueryRoutes(api, context);
    creditRoutes(api, context);
    planChangeRoutes(api, context);
    bulkDeferralRoutes(api, context);
    approvalRoutes(api, context, { actions: APPROVABLE_ACTIONS, formatAccount: formatAccountNumber });
    cashRoutes(api, context);
    reconciliationRoutes(api, context);
    providerStatementRoutes(api, context, copies);
    invoiceRoutes(api, context, { printer, summaries });
    receiptRoutes(api, context, printer);
    productRoutes(api, context);
    payPlanRoutes(api, context);
    paymentMethodRoutes(api, context);
    employeeRoutes(api, context);
    commissionRoutes(api, context, summaries);
    callListRoutes(api, context);
    callRoutes(api, context);
    promiseRoutes(api, context);
    resultRoutes(api, context);
    searchRoutes(api, context);
    timelineRoutes(api, context);
    reportRoutes(api, context, { copies, summaries, reports });
    listFileRoutes(api, context, streams);
    overviewRoutes(api, context, { summaries, stopwatch });
    exportRoutes(api, context, copies);
    importRoutes(api, context, copies);
    proofRoutes(api, context, verifier);
    auditRoutes(api, context);
    eventRoutes(api, context, { feed, sessions });
    webhookEndpointRoutes(api, context, horizon);
    providerRoutes(api, context);
    if (testClock) testClockRoutes(api, testClock);
  }

  const check = createHealthCheck(
    { probe, redis, replica, refusedWrites },
    createCachedReader(context.db, findSilentProviders),
  );
  app.register(async (root) => healthRoutes(root, { check, probe, isAccepting }));
  if (!sendConsole) startPageRoute(app, { check, version, registration: config.registration.open });
  docsRoutes(app);
  // To add an API version, register its routes here with a prefix.
  app.register(async (api) => v1(api), { prefix: '/api' });
  app.register(async (api) => v1(undocumented(api)), { prefix: '/api/v1' });
  return app;
}

/** Keeps the routes of `api` out of the API description. */
function undocumented(api: Api): Api {
  api.addHook('onRoute', (route) => {
    route.schema = { ...route.schema, hide: true };
  });
  return api;
}

function unknownAddress(method: string, url: string): AppError {
  const path = pathOf(url);
  const version = /^\/api\/v(\d+)(\/|$)/.exec(path)?.[1];
  const hint =
    version !== undefined && version !== '1' ? ' The current version is v1.' : ` See ${DOCS_PATH}.`;
  return new AppError('NOT_FOUND', `There is no ${method} ${path.slice(0, 100)}.${hint}`);
}
