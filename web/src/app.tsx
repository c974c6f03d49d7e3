import { useQueryClient } from '@tanstack/react-query';
import {
  Component,
  Fragment,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useState,
  useSyncExternalStore,
} from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { openedInvitation } from './api/invitation.ts';
import { followEvents } from './api/live.ts';
import { untilLoaded } from './api/send.ts';
import {
  currentSession,
  isSessionLocked,
  keepPageWhile,
  leaveLockedPage,
  may,
  onSessionChange,
} from './api/session.ts';
import { currentLanguage, t } from './i18n/index.ts';
import { Layout } from './layout.tsx';
import { labelOf, loadPage, PAGES } from './pages/index.ts';
import { UnconfirmedChanges } from './pages/shared/unconfirmed-changes.tsx';
import { useConnection } from './pages/shared/use-connection.ts';
import { Button } from './ui/button.tsx';
import { Dialog } from './ui/dialog.tsx';
import { Empty, Notice, Skeleton } from './ui/feedback.tsx';
import { usePageTitle } from './ui/page-title.ts';
import { PageHead } from './ui/panel.tsx';
import { Toasts } from './ui/toast.tsx';
import { hasUnsaved } from './ui/unsaved.ts';

keepPageWhile(hasUnsaved);

const signInPage = () => untilLoaded(() => import('./pages/sign-in/page.tsx'));
const SignIn = lazy(async () => ({ default: (await signInPage()).Page }));
const SignInForm = lazy(async () => ({ default: (await signInPage()).SignInForm }));
const ROUTES = PAGES.map((entry) => ({
  ...entry,
  Page: lazy(async () => ({ default: await untilLoaded(() => loadPage(entry)) })),
}));

/** The page for the URL. The sign-in page replaces it if nobody is signed in, or if an invitation link was opened. */
export function App() {
  const session = useSyncExternalStore(onSessionChange, currentSession);
  const isLocked = useSyncExternalStore(onSessionChange, isSessionLocked);
  const queries = useQueryClient();
  const [language, setLanguage] = useState(currentLanguage);
  const userId = session?.user.id;
  useEffect(() => {
    if (userId === undefined) return;
    const stopFollowing = followEvents(queries);
    return () => {
      stopFollowing();
      queries.clear(); // The next user of this tab must not see these answers.
    };
  }, [queries, userId]);

  return (
    <FailureBoundary key={`${language} ${userId} ${session?.user.role}`}>
      {session && !openedInvitation() ? (
        <Layout user={session.user} onLanguageChange={() => setLanguage(currentLanguage())}>
          <UnconfirmedChanges />
          <Suspense fallback={<NotLoaded />}>
            <Switch>
              {ROUTES.map(({ path, permission, Page }) => (
                <Route key={path} path={path}>
                  {(parameters) =>
                    may(permission) ? (
                      // Without the key, the page would keep the state and the rows of the previous record.
                      <Fragment key={JSON.stringify(parameters)}>
                        <FirstTitle path={path} />
                        <Page {...parameters} />
                      </Fragment>
                    ) : (
                      <Forbidden />
                    )
                  }
                </Route>
              ))}
              <Route path="/">
                <Redirect to="/today" replace />
              </Route>
              <Route>
                <PageHead title={t('app.notFound')} />
                <Empty>{t('app.notFound.hint')}</Empty>
              </Route>
            </Switch>
          </Suspense>
        </Layout>
      ) : (
        <Suspense>
          <SignIn onLanguageChange={() => setLanguage(currentLanguage())} />
        </Suspense>
      )}
      {isLocked && <LockedDialog />}
      <Toasts />
    </FailureBoundary>
  );
}

/** Titles the tab until the page has loaded its record, and if the page fails. Comes before the page, whose title replaces this one. */
function FirstTitle({ path }: { path: string }) {
  const label = labelOf(path);
  usePageTitle(label && t(label));
  return null;
}

/** Until the code of a page is loaded. Without a connection this can take long. */
function NotLoaded() {
  const isLost = useConnection() === 'lost';
  if (!isLost) return <Skeleton lines={6} />;
  return (
    <>
      <PageHead title={t('app.notLoaded')} />
      <Empty action={<Button onClick={() => location.reload()}>{t('app.reload')}</Button>}>
        {t('app.notLoaded.hint')}
      </Empty>
    </>
  );
}

/** The session has expired, and the page below has text that is not saved. */
function LockedDialog() {
  return (
    <Dialog title={t('session.title')} lead={t('session.locked')} canClose={false} onClose={leaveLockedPage}>
      <Suspense fallback={<NotLoaded />}>
        <SignInForm />
      </Suspense>
      <Button kind="quiet" onClick={leaveLockedPage}>
        {t('session.locked.leave')}
      </Button>
    </Dialog>
  );
}

function Forbidden() {
  return (
    <>
      <PageHead title={t('app.forbidden')} />
      <Empty>{t('problem.forbidden')}</Empty>
    </>
  );
}

/** Shows a message in place of a page that failed, for example because its file could not be loaded. */
class FailureBoundary extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <main className="failure">
        <Notice tone="bad" title={t('app.failed')}>
          <p>{t('app.failed.hint')}</p>
          <Button onClick={() => location.reload()}>{t('app.reload')}</Button>
        </Notice>
      </main>
    );
  }
}
