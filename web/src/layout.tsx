import { type ReactNode, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react';
import { Link, useLocation } from 'wouter';
import { connection, onConnectionChange } from './api/connection.ts';
import type { Schemas } from './api/paths.ts';
import { may, signOut } from './api/session.ts';
import { settings } from './api/settings.ts';
import { t, tValue } from './i18n/index.ts';
import { FindBox } from './pages/find/find-box.tsx';
import { PAGES, SECTIONS, type Section } from './pages/index.ts';
import { PasswordDialog } from './pages/shared/password-dialog.tsx';
import { LanguageChoice, ThemeChoice } from './preferences.tsx';
import { Icon } from './ui/icons.tsx';
import { Menu } from './ui/menu.tsx';

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
  const firstLocation = useRef(location);
  // Runs before the new page is drawn. The page may already have moved the focus to its first field.
  useLayoutEffect(() => {
    if (firstLocation.current === location) return;
    firstLocation.current = '';
    // A screen reader starts at the new page.
    if (!main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [location]);
  const side = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: Runs on each page change, because the link of the new page may be out of view.
  useEffect(() => {
    side.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [location]);

  const links = PAGES.flatMap(({ path, permission, navigation }) =>
    navigation && may(permission) ? [{ path, ...navigation }] : [],
  );
  const linksOf = (section: Section | undefined) =>
    links
      .filter((link) => link.section === section)
      .map(({ path, label, icon }) => (
        <Link key={path} href={path} className="nav-link" aria-current={currentOf(path, location)}>
          <Icon name={icon} />
          {t(label)}
        </Link>
      ));
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
          <FindBox id="top-find" takesSlash />
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
      {changesPassword && <PasswordDialog onClose={() => setChangesPassword(false)} />}
    </div>
  );
}

function ConnectionBanner() {
  const state = useSyncExternalStore(onConnectionChange, connection);
  return (
    <div className={`connection ${state}`} role="status">
      {state !== 'ok' && t(`connection.${state}`)}
    </div>
  );
}

/** A link is also marked for the pages below its path, such as one account below the list of accounts. */
function currentOf(path: string, location: string): 'page' | 'true' | undefined {
  if (location === path) return 'page';
  return location.startsWith(`${path}/`) ? 'true' : undefined;
}

function initialsOf({ firstName, lastName }: Schemas['User']): string {
  return `${firstName.charAt(0)}${lastName.charAt(0)}`.toUpperCase();
}
