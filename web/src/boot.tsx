import './ui/styles.css';
import { renewSession } from './api/session.ts';
import { loadSettings } from './api/settings.ts';
import { loadPreferredLanguage } from './i18n/index.ts';
import { preloadPage } from './pages/index.ts';
import { applyTheme } from './ui/theme.ts';

// These requests run while the browser loads the app. The session is requested before the files of the page, because nothing can be
// shown without the session, and with HTTP/1.1 a browser sends at most six requests to a host at a time.
applyTheme();
const session = renewSession(() => preloadPage(location.pathname));
const ready = Promise.all([session, loadSettings(), loadPreferredLanguage()]);
const main = import('./main.tsx');

Promise.all([main, ready])
  .then(([{ start }]) => start())
  .catch((error: unknown) => {
    reportError(error); // Shows the error in the console of the browser.
    const box = document.getElementById('app');
    // A fixed text, because the messages may not be loaded.
    if (box)
      box.textContent =
        'The console could not be loaded. Reload the page. / Imeshindikana kupakia. Pakia upya.';
  });
