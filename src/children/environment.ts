// The environment that programs get: what they need to find their way, and none of our secrets.

/** Variables that are passed on by name. */
const PASSED: ReadonlySet<string> = new Set(
  'PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM COLORTERM TMPDIR EDITOR VISUAL PAGER XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME JAVA_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT NVM_DIR PNPM_HOME SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS'.split(
    ' ',
  ),
);
/** Families of harmless variables. */
const PASSED_FAMILY = /^LC_/;
/** What looks like a secret is never passed on, whoever listed it. */
const SECRET = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|AUTH/i;

/**
 * The environment for a child: the plain variables of `base`, then `extra`, which the caller chose and which is taken as it is;
 * `undefined` in `extra` takes a variable away.
 */
export function childEnvironment(
  base: Readonly<Record<string, string | undefined>>,
  extra: Readonly<Record<string, string | undefined>> = {},
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(base))
    if (value !== undefined && (PASSED.has(name) || PASSED_FAMILY.test(name)) && !SECRET.test(name))
      environment[name] = value;
  for (const [name, value] of Object.entries(extra)) {
    if (value === undefined) delete environment[name];
    else environment[name] = value;
  }
  environment.PATH ??= '/usr/local/bin:/usr/bin:/bin';
  return environment;
}
