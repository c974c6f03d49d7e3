import { test } from 'vitest';
import { HAS_BROWSER, sharedBrowser } from '../../support/chromium.ts';
import { run } from '../../support/processes.ts';
import { launch, newFolder, startService } from '../process.ts';

test('waits with running programs', async () => {
  const { DATA_DIR } = process.env;
  if (DATA_DIR !== undefined) {
    await startService({ DATA_DIR });
    if (HAS_BROWSER) await sharedBrowser();
  }
  launch(['sh', '-c', `trap '' HUP INT QUIT TERM; sleep 1001 & wait`], await newFolder(), {});
  await run('sh', ['-c', 'sleep 1002; true']);
});
