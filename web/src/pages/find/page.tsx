import { useLayoutEffect } from 'react';
import { t } from '../../i18n/index.ts';
import { PageHead } from '../../ui/panel.tsx';
import { FindBox } from './find-box.tsx';

export function Page() {
  useLayoutEffect(() => document.getElementById('page-find')?.focus(), []);
  return (
    <div className="narrow">
      <PageHead title={t('nav.find')}>
        <span className="wide-only">{t('find.hint')}</span>
      </PageHead>
      <FindBox id="page-find" isInPage />
    </div>
  );
}
