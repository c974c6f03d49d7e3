import { readFile, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** The service to which the development server (`npx vite web`) forwards API requests. */
const SERVICE = process.env.SERVICE_ORIGIN ?? 'http://localhost:8080';

/** Preact is 50 kB smaller than React, see docs/decisions/0018. `CONSOLE_LIBRARY=react` builds the same source with React. */
const PREACT = [
  { find: /^react\/jsx-(dev-)?runtime$/, replacement: 'preact/jsx-runtime' },
  { find: 'react-dom/client', replacement: 'preact/compat/client' },
  { find: /^(react(-dom)?|use-sync-external-store\/shim\/index\.js)$/, replacement: 'preact/compat' },
];

/** boot.tsx and its modules are a separate small file, so that the requests of boot.tsx do not wait for the app. */
const FIRST = { name: 'first', test: /[\\/]src[\\/]boot\.tsx$|preload-helper|rolldown.runtime/, priority: 2 };
/**
 * The modules that at least four pages need are one file, because many small files take longer on a slow network.
 * Messages are excluded, because a user needs them in one language only.
 */
const SHARED = { name: 'shared', test: /^(?!.*[\\/]i18n[\\/](en|sw)[\\/])/, minShareCount: 4, priority: 1 };

/** Pages that users open one after the other are one file, with the modules that only they need. */
const SECTIONS = [
  ['page-calls', 'call-list|call|promises|call-results'],
  ['page-cash', 'cash|cash-office'],
  ['page-commissions', 'commissions|commission-month|commission-rules|unclaimed-sales'],
  ['page-portfolio', 'portfolio|imports?'],
  ['page-catalogue', 'products?|pay-plans|payment-methods|employees'],
  ['page-lists', 'customers|accounts|plan-changes|bulk-deferral|payments|invoices'],
  ['page-statements', 'provider-statements?'],
  ['page-access', 'users|invitations|api-keys|webhook-endpoints?'],
].map(([name = '', folders]) => ({
  name,
  test: new RegExp(`[\\\\/]src[\\\\/]pages[\\\\/](${folders})[\\\\/]`),
}));

/** The messages of pages that users open one after the other, and the messages that many of these pages share, are one file per language. */
const MESSAGES = ['en', 'sw'].flatMap((language) =>
  [
    ['words', 'codes|plans|secrets'],
    ['lists', 'customers|accounts|plan-changes|payments|invoices'],
    ['records', 'account|customer|payment|invoice|approvals|history|money-work'],
    [
      'administration',
      'products|pay-plans|payment-methods|employees|commissions|commission-rules|users|api-keys|webhooks',
    ],
    ['office', 'provider-statements|provider-answer|unmatched|portfolio|imports|cash|calls'],
  ].map(([name = '', files], place) => ({
    name: `${name}-${language}`,
    priority: place === 0 ? 0.5 : 0, // A group also takes what its modules import, if no group with a higher priority has it.
    test: new RegExp(`[\\\\/]i18n[\\\\/]${language}[\\\\/](${files})[.]ts$`),
  })),
);

type ImportersOf = (id: string) => readonly string[];

/** The only section whose pages import a module, also by other modules. */
function sectionOf(id: string, importersOf: ImportersOf): string | undefined {
  const section = SECTIONS.find(({ test }) => test.test(id));
  if (section || !SEVERAL.test.test(id)) return section?.name;
  const sections = new Set(importersOf(id).map((importer) => sectionOf(importer, importersOf)));
  return sections.size === 1 ? [...sections][0] : undefined;
}

/** The other modules that several pages need are files of their own, so that a page does not load another section with them. */
const SEVERAL = {
  name: (id: string, bundle: { getModuleInfo(id: string): { importers: string[] } | null }) => {
    if (FRAME.test(id)) return 'frame';
    if (PLANS.test(id)) return 'plans';
    const isOfSection = sectionOf(id, (of) => bundle.getModuleInfo(of)?.importers ?? []) !== undefined;
    return isOfSection ? null : basename(id, extname(id));
  },
  test: /[\\/]src[\\/](api|ui|pages[\\/]shared)[\\/]/,
  minShareCount: 2,
  priority: 0.5,
};
/** Modules around all pages that few pages import. */
const FRAME = /[\\/](menu|use-shortcut|invitation)\.tsx?$/;
/** What pages show of changes of plans. */
const PLANS = /[\\/](deferral-fields|bulk-deferral-facts|plan-change-columns|plan-effect)\.tsx$/;

export default defineConfig(({ command }) => {
  // In a test, NODE_ENV is `test`, and Vite would build for development.
  if (command === 'build') process.env.NODE_ENV = 'production';
  return {
    resolve: { alias: process.env.CONSOLE_LIBRARY === 'react' ? [] : PREACT },
    plugins: [preloadApp(), compressFiles()],
    build: {
      target: 'es2022',
      assetsInlineLimit: 0, // The content security policy allows data: URLs only for images.
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        checks: { pluginTimings: false, moduleLevelDirective: false },
        output: {
          codeSplitting: { groups: [FIRST, SHARED, SEVERAL, ...SECTIONS, ...MESSAGES] },
          // The first file has the names of all files. Shorter hashes make it smaller.
          entryFileNames: 'assets/[name]-[hash:7].js',
          chunkFileNames: 'assets/[name]-[hash:7].js',
          assetFileNames: 'assets/[name]-[hash:7][extname]',
        },
      },
    },
    server: { proxy: { '/api': SERVICE } },
  };
});

/** Makes the browser load the app at the same time as boot.tsx, not after it. */
function preloadApp(): Plugin {
  return {
    name: 'preload-app',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle = {} }) => {
        const main = Object.values(bundle).find((file) => file.type === 'chunk' && file.name === 'main');
        if (main?.type !== 'chunk') throw new Error('The build has no chunk named main.');
        return [main.fileName, ...main.imports].map((file) => ({
          tag: 'link',
          attrs: { rel: 'modulepreload', crossorigin: true, href: `/${file}` },
          injectTo: 'head',
        }));
      },
    },
  };
}

/** Writes x.br and x.gz next to each file x, so that the service compresses nothing. */
function compressFiles(): Plugin {
  return {
    name: 'compress-files',
    apply: 'build',
    async writeBundle({ dir = '' }, bundle) {
      const compress = async ({ fileName }: { fileName: string }) => {
        const path = join(dir, fileName);
        const bytes = await readFile(path);
        await Promise.all([
          promisify(brotliCompress)(bytes).then((smaller) => writeFile(`${path}.br`, smaller)),
          promisify(gzip)(bytes, { level: 9 }).then((smaller) => writeFile(`${path}.gz`, smaller)),
        ]);
      };
      await Promise.all(Object.values(bundle).map(compress));
    },
  };
}
