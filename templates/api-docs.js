/** The page at /api-docs: Swagger UI with what its reader needs and the original lacks. */

const TOKEN_ENDPOINT = /\/auth\/(register|login|refresh)$/;

/** By the address of the answer: files as they came, byte for byte. Swagger UI keeps text alone, and not its BOM. */
const files = new Map();

/** In place of `fetch` for requests that the page sends. */
async function fetchAndKeepFile(url, options) {
  const response = await fetch(url, options);
  files.delete(url);
  const disposition = response.headers.get('content-disposition');
  if (response.ok && disposition) {
    const name = /filename="([^"]+)"/.exec(disposition)?.[1] ?? 'download';
    files.set(url, { name, blob: await response.clone().blob() });
  }
  return response;
}

/** Shows a link to the file where the answer is one. */
function responseBodyWithFile(Original, { React }) {
  return function ResponseBody(props) {
    const file = files.get(props.url);
    const address = React.useMemo(() => file && URL.createObjectURL(file.blob), [file]);
    React.useEffect(() => () => address && URL.revokeObjectURL(address), [address]);
    if (!file) return React.createElement(Original, props);
    const kilobytes = Math.max(1, Math.round(file.blob.size / 1000));
    return React.createElement(
      'p',
      { className: 'file' },
      React.createElement('a', { href: address, download: file.name }, `Download ${file.name}`),
      ` (${kilobytes} kB)`,
    );
  };
}

/** Beside the picker of a file: the example of the description as one. */
function requestBodyWithExampleFile(Original, { React }) {
  return function RequestBody(props) {
    const media = props.requestBody?.getIn(['content', props.contentType]);
    const example = media?.getIn(['schema', 'format']) === 'binary' ? media.get('example') : undefined;
    const address = React.useMemo(
      () => example && URL.createObjectURL(new Blob([example], { type: props.contentType })),
      [example, props.contentType],
    );
    React.useEffect(() => () => address && URL.revokeObjectURL(address), [address]);
    const original = React.createElement(Original, props);
    if (!address) return original;
    const name = `example.${props.contentType.split('/')[1]}`;
    const link = React.createElement('a', { href: address, download: name }, `Download ${name}`);
    return React.createElement('div', { className: 'file' }, original, React.createElement('p', null, link));
  };
}

/** Every field of the dialog takes the focus as it appears, so that the last has it; the token is what readers have. */
function dialogAtToken(Original, { React }) {
  return function AuthorizationPopup(props) {
    React.useEffect(() => document.querySelector('.auth-container input')?.focus(), []);
    return React.createElement(Original, props);
  };
}

/**
 * In place of Swagger UI's own, which walks through the whole description for each operation that is opened. This
 * description refers to its own components alone, and none of them to itself.
 */
async function resolveSubtree(description, path) {
  const at = (keys) => keys.reduce((value, key) => value?.[key], description);
  function resolve(value) {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    if (typeof value.$ref === 'string') return resolve(at(value.$ref.slice('#/'.length).split('/')));
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolve(inner)]));
  }
  return { spec: resolve(at(path)), errors: [] };
}

/** The description has the public address; the page may call only the host that sent it. */
function callThisHost(original) {
  return (description) => original({ ...description, servers: [{ url: '/' }] });
}

/** Whoever signs in by "Execute" has the token set without copying it. */
function keepToken(response) {
  if (!response.ok || !TOKEN_ENDPOINT.test(response.url)) return;
  const token = response.body?.data?.accessToken;
  if (!token) return;
  ui.preauthorizeApiKey('bearer', token);
  ui.getSystem().authActions.persistAuthorizationIfNeeded();
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followSystem);
followSystem();

const ui = SwaggerUIBundle({
  url: '/api-docs/openapi.json',
  dom_id: '#api',
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  docExpansion: 'none',
  filter: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  requestInterceptor: (request) => Object.assign(request, { userFetch: fetchAndKeepFile }),
  responseInterceptor: (response) => {
    keepToken(response);
    return response;
  },
  plugins: [
    () => ({
      statePlugins: { spec: { wrapActions: { updateJsonSpec: callThisHost } } },
      fn: { resolveSubtree },
      wrapComponents: {
        RequestBody: requestBodyWithExampleFile,
        responseBody: responseBodyWithFile,
        authorizationPopup: dialogAtToken,
      },
    }),
  ],
});

// Swagger UI opens and scrolls to the operation of the first address alone; the links of the header change it later.
addEventListener('hashchange', () => {
  const { layoutActions } = ui.getSystem();
  layoutActions.parseDeepLinkHash(location.hash);
  // An operation that is already on the page never takes the scroll request, which then fails when its tag is closed.
  layoutActions.clearScrollTo();
  const id = location.hash.replace('#', 'operations').replaceAll('/', '-');
  requestAnimationFrame(() => document.getElementById(id)?.scrollIntoView());
});
