import { t } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { KEYS, type KeyName } from '../../ui/keys.ts';

interface Group {
  /** Without it, the keys work everywhere on the page. */
  title?: 'nav.unmatched' | 'nav.find';
  /** The page on which the keys work. Without it, they work on every page. */
  path?: string;
  keys: readonly KeyName[];
}

const GROUPS: readonly Group[] = [
  { keys: ['find', 'help'] },
  {
    title: 'nav.unmatched',
    path: '/unmatched',
    keys: ['choose', 'send', 'next', 'previous', 'search', 'undo'],
  },
  { title: 'nav.find', keys: ['down', 'up', 'open', 'clear'] },
];

/** How keyboards name a key. The other keys have the character that they type. */
const NAMES: Readonly<Partial<Record<KeyName, string>>> = { down: '↓', up: '↑', clear: 'Esc', choose: '1–9' };

/** The keys of the console and of the page. */
export function KeysDialog({ path, onClose }: { path: string; onClose(): void }) {
  return (
    <Dialog title={t('keys.title')} onClose={onClose}>
      {GROUPS.filter((group) => group.path === undefined || group.path === path).map(({ title, keys }) => (
        <section key={title}>
          {title && <h3>{t(title)}</h3>}
          <dl className="facts">
            {keys.map((key) => (
              <div key={key}>
                <dt>
                  <kbd>{NAMES[key] ?? KEYS[key]}</kbd>
                </dt>
                <dd>{t(key === 'find' ? 'nav.find' : `keys.${key}`)}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
