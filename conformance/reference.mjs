// Finds the executable of the reference server, and the JSON schema that it prints.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const CONFORMANCE = path.dirname(fileURLToPath(import.meta.url));
const LAUNCHER = path.join(CONFORMANCE, 'node_modules', '@openai', 'codex', 'bin', 'codex.js');

const PLATFORMS = {
  'linux x64': ['@openai/codex-linux-x64', 'x86_64-unknown-linux-musl'],
  'linux arm64': ['@openai/codex-linux-arm64', 'aarch64-unknown-linux-musl'],
  'darwin x64': ['@openai/codex-darwin-x64', 'x86_64-apple-darwin'],
  'darwin arm64': ['@openai/codex-darwin-arm64', 'aarch64-apple-darwin'],
};

/**
 * The reference as a native program, or undefined when there is none: `REFERENCE_EXE`, else what is installed here.
 * The package's launcher script is looked through: it starts the program as a child that outlives a killed launcher
 * and holds its pipes, so that whoever ends the server would wait for ever, and start-up and memory would be those of two.
 */
export function referenceExecutable(given = process.env.REFERENCE_EXE) {
  const file = given ?? LAUNCHER;
  if (!fs.existsSync(file)) return given;
  const real = fs.realpathSync(file);
  return path.extname(real) === '.js' ? (behindLauncher(real) ?? file) : real;
}

function behindLauncher(launcher) {
  const [name, triple] = PLATFORMS[`${process.platform} ${process.arch}`] ?? [];
  if (!name) return undefined;
  try {
    const manifest = createRequire(launcher).resolve(`${name}/package.json`);
    const program = path.join(path.dirname(manifest), 'vendor', triple, 'bin', 'codex');
    return fs.existsSync(program) ? program : undefined;
  } catch {
    return undefined;
  }
}

/** The folder with the reference's JSON schema: `folder` with a name for this executable behind it. Several may ask at once. */
export function writeSchema(executable, folder) {
  const made = createHash('sha256')
    .update(`${executable} ${fs.statSync(executable).size}`)
    .digest('hex')
    .slice(0, 12);
  const place = `${folder}-${made}`;
  if (fs.existsSync(place)) return place;
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  const fresh = fs.mkdtempSync(`${place}-`);
  execFileSync(executable, ['app-server', 'generate-json-schema', '--experimental', '--out', fresh], {
    stdio: 'inherit',
  });
  try {
    fs.renameSync(fresh, place);
  } catch (error) {
    // Somebody else was faster.
    if (!fs.existsSync(place)) throw error;
    fs.rmSync(fresh, { recursive: true, force: true });
  }
  return place;
}
