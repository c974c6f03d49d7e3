import { lazy, type ReactNode, Suspense, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { api } from './api/client.ts';
import type { Schemas } from './api/paths.ts';
import { untilLoaded } from './api/send.ts';
import { may, signOut } from './api/session.ts';
import { settings } from './api/settings.ts';
import { format, loadMessages, t, tValue } from './i18n/index.ts';
import { FindBox } from './pages/find/find-box.tsx';
import { PAGES, SECTIONS, type Section } from './pages/index.ts';
import { useConnection } from './pages/shared/use-connection.ts';
import { LanguageChoice, ThemeChoice } from './preferences.tsx';
import { Icon } from './ui/icons.tsx';
import { Menu } from './ui/menu.tsx';
import { useShortcut } from './ui/use-shortcut.ts';

/** How much work waits on a page. Null if the user may not read it. */
const WORK_OF_PAGE: Readonly<Record<string, (work: Schemas['TodayWork']) => number | null | undefined>> = {
  '/unmatched': ({ unmatchedPayments, conflicts }) => (unmatchedPayments ?? 0) + (conflicts ?? 0),
  '/approvals': ({ pendingApprovals }) => pendingApprovals,
  '/cash': ({ cash }) => cash && cash.own.openCounts + cash.own.toReceive,
  '/cash/office': ({ cash }) => cash?.toConfirm,
  '/call-list': ({ ownCallsDue }) => ownCallsDue,
};

const KeysDialog = lazy(async () => {
  const [loaded] = await untilLoaded(() =>
    Promise.all([import('./pages/shared/keys-dialog.tsx'), loadMessages('find')]),
  );
  return { default: loaded.KeysDialog };
});

const PasswordDialog = lazy(async () => {
  const loaded = await untilLoaded(() => import('./pages/shared/password-dialog.tsx'));
  return { default: loaded.PasswordDialog };
});

interface LayoutProps {
  user: Schemas['User'];
  onLanguageChange(): void;
  children: ReactNode;
}

/** Navigation, search and the menu of the user around a page. */
export function Layout({ user, onLanguageChange, children }: LayoutProps) {
  const [location] = useLocation();
  const main = useRef<HTMLElement>(null);
  const [changesPassword, setChangesPassword] = useState(false);
  const [showsKeys, setShowsKeys] = useState(false);
  useShortcut('help', () => setShowsKeys(true));
  const firstLocation = useRef(location);
  // Runs before the browser draws the new page. A page that focuses its first field has already done so.
  useLayoutEffect(() => {
    if (firstLocation.current === location) return;
    firstLocation.current = '';
    // If the page has not done so, the page itself gets the focus, so that a screen reader starts there.
    if (!main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [location]);
  const side = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: Runs on each page change, because the link of the new page may be out of view.
  useEffect(() => {
    side.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [location]);

  const links = PAGES.flatMap(({ path, permission, setting, navigation }) =>
    navigation && may(permission) && (setting === undefined || settings()[setting])
      ? [{ path, ...navigation }]
      : [],
  );
  // The page Today reads the same. Events repeat the query, so a change of the page need not.
  const work = api.useQuery('get', '/api/reports/today', undefined, {
    enabled: may('payments:read'),
    staleTime: Infinity,
  });
  const linksOf = (section: Section | undefined) =>
    links
      .filter((link) => link.section === section)
      .map(({ path, label, icon }) => {
        const waiting = (work.data && WORK_OF_PAGE[path]?.(work.data.data)) ?? 0;
        const count = format.number(waiting);
        return (
          <Link key={path} href={path} className="nav-link" aria-current={currentOf(path, location)}>
            <Icon name={icon} />
            <span aria-hidden={waiting > 0 || undefined}>{t(label)}</span>
            {waiting > 0 && (
              <>
                <span className="nav-count" aria-hidden="true">
                  {count}
                </span>
                <span className="visually-hidden">{t('app.waiting', { page: t(label), count })}</span>
              </>
            )}
          </Link>
        );
      });
  const navigation = (
    <>
      {linksOf(undefined)}
      {SECTIONS.map((section) => ({ section, shown: linksOf(section) }))
        .filter(({ shown }) => shown.length > 0)
        .map(({ section, shown }) => (
          <div key={section} className="nav-section">
            <p className="nav-heading">{t(`nav.section.${section}`)}</p>
            {shown}
          </div>
        ))}
    </>
  );
  return (
    <div className="shell">
      <a className="skip" href="#main">
        {t('app.skip')}
      </a>
      <header className="top">
        <span className="phone-only">
          <Menu label={t('app.menu')} button={<Icon name="menu" />}>
            <nav className="menu-nav" aria-label={t('app.navigation')}>
              {navigation}
            </nav>
          </Menu>
        </span>
        <Link href="/" className="brand" aria-label={settings().companyName}>
          <span className="brand-mark" aria-hidden="true" />
          <span className="brand-name">{settings().companyName}</span>
        </Link>
        <div className="top-find">
          <FindBox id="top-find" hasSlashShortcut />
        </div>
        <Menu
          label={`${initialsOf(user)}: ${t('app.userMenu')}`}
          buttonClass="avatar"
          button={<span aria-hidden="true">{initialsOf(user)}</span>}
        >
          <div className="menu-head">
            <strong>{`${user.firstName} ${user.lastName}`}</strong>
            <span className="muted">{user.email}</span>
            <span className="muted">{tValue('role', user.role)}</span>
          </div>
          <ThemeChoice />
          <LanguageChoice onChange={onLanguageChange} />
          <hr />
          <button type="button" className="menu-item" onClick={() => setChangesPassword(true)}>
            {t('app.changePassword')}
          </button>
          <button type="button" className="menu-item" onClick={() => void signOut()}>
            {t('app.signOut')}
          </button>
        </Menu>
      </header>
      <nav ref={side} className="side wide-only" aria-label={t('app.navigation')}>
        {navigation}
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
      <ConnectionBanner />
      {showsKeys && (
        <Suspense>
          <KeysDialog path={location} onClose={() => setShowsKeys(false)} />
        </Suspense>
      )}
      {changesPassword && (
        <Suspense>
          <PasswordDialog onClose={() => setChangesPassword(false)} />
        </Suspense>
      )}
    </div>
  );
}

function ConnectionBanner() {
  const connection = useConnection();
  return (
    <div className={`connection ${connection}`} role="status">
      {connection !== 'ok' && t(`connection.${connection}`)}
    </div>
  );
}

/** The `aria-current` of a link. The link `/accounts` gets `page` at `/accounts`, and `true` at `/accounts/7`. */
function currentOf(path: string, location: string): 'page' | 'true' | undefined {
  if (location === path) return 'page';
  return location.startsWith(`${path}/`) ? 'true' : undefined;
}

function initialsOf({ firstName, lastName }: Schemas['User']): string {
  return `${firstName.charAt(0)}${lastName.charAt(0)}`.toUpperCase();
}
