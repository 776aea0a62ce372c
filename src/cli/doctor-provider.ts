// Whether turns can reach their model: the provider is really asked, and its key appears in no word of the answer.

import { createKeyStore } from '../account/keys.ts';
import { ModelError, type ProviderAccess } from '../agent/models/client.ts';
import { concealing } from '../agent/models/concealing.ts';
import { createModelHttp, type ModelHttp } from '../agent/models/http.ts';
import { type ListedModel, listModels } from '../agent/models/listing.ts';
import { modelClient } from '../agent/models/registry.ts';
import { accessOf } from '../app-backend.ts';
import { messageOf } from '../base/errors.ts';
import { defaultProviderId, hasProvider, providerOf } from '../config/providers.ts';
import type { Verdict } from './doctor-running.ts';
import { bad, doubtful, type Finding, good } from './finding.ts';

export interface ProviderCheck {
  readonly dataDirectory: string;
  readonly verdict: Verdict;
  /** Undefined: the configured one. */
  readonly provider: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** How long a provider may take. */
const LIMIT_MS = 15_000;

export async function providerFindings(check: ProviderCheck): Promise<readonly Finding[]> {
  const { verdict, provider } = check;
  const { config } = verdict;
  if (provider === undefined && verdict.backend !== 'runtime') return [backendFinding(verdict)];
  const id = provider ?? defaultProviderId(config);
  const about = `provider ${id}`;
  if (verdict.isOtherProvider(id))
    return [doubtful(about, 'the running server has another entry of it', 'give the same `-c` flags as to the server')];
  if (!hasProvider(config, id)) return [bad(about, 'it is not configured', `add model_providers.${id} to config.yaml`)];
  const http = createModelHttp();
  try {
    const access = await accessOf(providerOf(config, id), {
      environment: check.environment,
      keys: createKeyStore(check.dataDirectory),
    });
    const model = id === defaultProviderId(config) ? config.model : null;
    const signal = AbortSignal.timeout(LIMIT_MS);
    return await tried(about, access, model, http, signal).catch((error: unknown) => {
      const reason = signal.aborted ? new Error(`no answer within ${LIMIT_MS / 1000} s`) : error;
      return [failure(about, access, reason)];
    });
  } catch (error) {
    return [
      bad(
        about,
        messageOf(error),
        `look at model_providers.${id} in config.yaml, and at the environment of this command`,
      ),
    ];
  } finally {
    await http.close();
  }
}

function backendFinding({ backend, source }: Verdict): Finding {
  if (backend === 'mock') return good('backend', `mock, ${source}: turns follow scripts, and need no provider`);
  return bad(
    'backend',
    backend === 'external'
      ? '`external` is not available, so no server starts'
      : `none is chosen ${source}, so turns only say what to configure`,
    'set backend: runtime, model and model_provider in config.yaml, or start a server with --backend',
  );
}

async function tried(
  about: string,
  access: ProviderAccess,
  model: string | null,
  http: ModelHttp,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const where = new URL(access.baseUrl).origin;
  const listed = await listModels(access, http, signal).catch((error: unknown) => {
    if (hasNoList(error)) return undefined;
    throw error;
  });
  if (listed !== undefined)
    return [good(about, `${where} answers, with ${listed.length} models`), ...modelFindings(model, listed)];
  if (model === null)
    return [doubtful(about, `${where} lists no models`, 'name one as model in config.yaml, and look again')];
  await firstWord(access, model, http, signal);
  return [good(about, `${where} answers, and so does ${model}`)];
}

function modelFindings(model: string | null, listed: readonly ListedModel[]): readonly Finding[] {
  if (model === null) return [doubtful('model', 'none is configured', 'name one as model in config.yaml')];
  if (listed.some(({ id }) => id === model)) return [good('model', model)];
  return [
    doubtful('model', `${model} is not in the list of the provider`, 'look at model/list, or at its documentation'),
  ];
}

/** The server answers, but does not know that page. */
const hasNoList = (error: unknown): boolean =>
  error instanceof ModelError && error.fault.kind === 'http' && [400, 404, 405, 501].includes(error.fault.status);

/** Settles with the first thing that the model says. */
async function firstWord(access: ProviderAccess, model: string, http: ModelHttp, signal: AbortSignal): Promise<void> {
  const request = {
    ...{ model, instructions: 'Answer with one word.', tools: [], summary: null, cacheKey: 'doctor' },
    effort: access.wire === 'anthropic' ? 'none' : null,
    context: [{ type: 'user' as const, content: [{ type: 'text' as const, text: 'ok?', text_elements: [] }] }],
  };
  for await (const _ of modelClient(access, http).stream(request, signal)) return;
}

function failure(about: string, access: ProviderAccess, error: unknown): Finding {
  const words = concealing(access)(messageOf(error));
  if (error instanceof ModelError && error.fault.kind === 'http') {
    const { status } = error.fault;
    const isKey = status === 401 || status === 403;
    const advice = isKey
      ? 'check its key: env_key, or what was stored by account/login/start'
      : 'check base_url and wire_api';
    return bad(about, `status ${status}: ${words}`, advice);
  }
  return bad(about, words, 'check base_url, and that its server can be reached from here');
}
