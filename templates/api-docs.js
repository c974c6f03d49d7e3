/** The script of the page /api-docs. It adapts Swagger UI to this service. */

const TOKEN_ENDPOINT = /\/auth\/(register|login|refresh)$/;

/** The received files by URL. Swagger UI itself keeps only their text, without the byte order mark. */
const files = new Map();

/** Replaces `fetch` for the requests of the page. */
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

/** If the answer is a file, shows a link to download it. */
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

/** If the request sends a file, adds a link to download the example of the API description as a file. */
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

/** Focuses the field of the token, the first in the dialog. Without this, the last field has the focus. */
function dialogAtToken(Original, { React }) {
  return function AuthorizationPopup(props) {
    React.useEffect(() => document.querySelector('.auth-container input')?.focus(), []);
    return React.createElement(Original, props);
  };
}

/**
 * Replaces a function of Swagger UI that walks through the whole API description whenever the user opens an operation. This
 * version can be simple: references lead only to components of the same description, and no component contains itself.
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

/**
 * The API description has the public address of the service, but this page may call only the host that sent the page. It also
 * has an example for each parameter, and with all of them Swagger UI would send requests that nobody wants.
 */
function adaptDescription(original) {
  return (description) => {
    for (const path of Object.values(description.paths))
      for (const { parameters = [] } of Object.values(path)) parameters.forEach(leaveEmpty);
    return original({ ...description, servers: [{ url: '/' }] });
  };
}

/** An empty object stays, because Swagger UI would otherwise fill in each of its properties. */
function leaveEmpty(parameter) {
  const isEmpty = JSON.stringify(parameter.example) === '{}';
  if (!parameter.required && !isEmpty) delete parameter.example;
}

/** After a sign-in on this page, sends the new token with all further calls. */
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
      statePlugins: { spec: { wrapActions: { updateJsonSpec: adaptDescription } } },
      fn: { resolveSubtree },
      wrapComponents: {
        RequestBody: requestBodyWithExampleFile,
        responseBody: responseBodyWithFile,
        authorizationPopup: dialogAtToken,
      },
    }),
  ],
});

// Swagger UI opens the operation in the URL only when the page loads. The links in the page header change the URL later.
addEventListener('hashchange', () => {
  const { layoutActions } = ui.getSystem();
  layoutActions.parseDeepLinkHash(location.hash);
  // If the operation is already shown, Swagger UI keeps its own pending scroll to it, and fails when the tag is closed.
  layoutActions.clearScrollTo();
  const id = location.hash.replace('#', 'operations').replaceAll('/', '-');
  requestAnimationFrame(() => document.getElementById(id)?.scrollIntoView());
});
