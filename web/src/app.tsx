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
import { currentSession, may, onSessionChange } from './api/session.ts';
import { currentLanguage, t } from './i18n/index.ts';
import { Layout } from './layout.tsx';
import { labelOf, loadPage, PAGES } from './pages/index.ts';
import { Button } from './ui/button.tsx';
import { Empty, Notice, Skeleton } from './ui/feedback.tsx';
import { usePageTitle } from './ui/page-title.ts';
import { PageHead } from './ui/panel.tsx';
import { Toasts } from './ui/toast.tsx';

const SignIn = lazy(async () => ({ default: (await import('./pages/sign-in/page.tsx')).Page }));
const ROUTES = PAGES.map((entry) => ({
  ...entry,
  Page: lazy(async () => ({ default: await loadPage(entry) })),
}));

/** The page for the URL. The sign-in page replaces it if nobody is signed in, or if an invitation link was opened. */
export function App() {
  const session = useSyncExternalStore(onSessionChange, currentSession);
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
    <FailureBoundary key={`${language} ${session?.user.role}`}>
      {session && !openedInvitation() ? (
        <Layout user={session.user} onLanguageChange={() => setLanguage(currentLanguage())}>
          <Suspense fallback={<Skeleton lines={6} />}>
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
                <Redirect to={may('reports:read') ? '/today' : '/find'} replace />
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
      <Toasts />
    </FailureBoundary>
  );
}

/** Titles the tab until the page has loaded its record, and if the page fails. Comes before the page, which then has the last word. */
function FirstTitle({ path }: { path: string }) {
  const label = labelOf(path);
  usePageTitle(label && t(label));
  return null;
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
