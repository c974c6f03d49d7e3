import { useLayoutEffect } from 'react';
import { useSearchParams } from 'wouter';
import { t } from '../../i18n/index.ts';
import { PageHead } from '../../ui/panel.tsx';
import { FindBox } from './find-box.tsx';

export function Page() {
  const [parameters, setParameters] = useSearchParams();
  useLayoutEffect(() => document.getElementById('page-find')?.focus(), []);
  return (
    <div className="narrow">
      <PageHead title={t('nav.find')} />
      <FindBox
        id="page-find"
        ofPage={{
          text: parameters.get('q') ?? '',
          onSearch: (q) => setParameters(q === '' ? {} : { q }, { replace: true }),
        }}
      />
    </div>
  );
}
