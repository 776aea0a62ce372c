// What a provider says of the models that it has, in whichever of the usual forms.

import { ModelError, type ProviderAccess } from './client.ts';
import { endpoint, requestHeaders } from './endpoint.ts';
import type { Answer, ModelHttp } from './http.ts';
import { countOf, type Loose, listOf, parseLoosely, recordOf, textOf } from './loose.ts';

export interface ListedModel {
  readonly id: string;
  /** Null where the provider has no other name for it. */
  readonly displayName: string | null;
  /** In tokens; null where the provider does not say. */
  readonly contextWindow: number | null;
  /** Null where the provider does not say. */
  readonly modalities: readonly ('text' | 'image' | 'audio')[] | null;
}

const MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_MODELS = 2000;
const MAX_PAGES = 5;
/** Silence in milliseconds after which the list is given up. */
const IDLE_MS = 10_000;

/** All pages of the list, in the provider's order. Throws a ModelError, or as *cancelled*. */
export async function listModels(
  access: ProviderAccess,
  http: ModelHttp,
  signal: AbortSignal,
): Promise<readonly ListedModel[]> {
  const listed: ListedModel[] = [];
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES && listed.length < MAX_MODELS; page++) {
    const body = await pageOf(access, http, after, signal);
    listed.push(...modelsIn(body));
    after = body.has_more === true ? textOf(body.last_id) : '';
    if (after === '') break;
  }
  return listed.slice(0, MAX_MODELS);
}

async function pageOf(
  access: ProviderAccess,
  http: ModelHttp,
  after: string | undefined,
  signal: AbortSignal,
): Promise<Loose> {
  const isAnthropic = access.wire === 'anthropic';
  const paging = isAnthropic ? { limit: '1000', ...(after === undefined ? {} : { after_id: after }) } : {};
  const url = endpoint({ ...access, query: { ...paging, ...access.query } }, 'models');
  const headers = { ...requestHeaders(access, authorizationOf(access)), accept: 'application/json' };
  const answer = await http.open({ url, headers, idleMs: IDLE_MS }, signal);
  const body = parseLoosely(await textIn(answer));
  if (body === undefined) throw new ModelError('the list of models is no JSON', { kind: 'stream' });
  return Array.isArray(body) ? { data: body } : recordOf(body);
}

function authorizationOf({ wire, apiKey }: ProviderAccess): Readonly<Record<string, string>> {
  if (wire === 'anthropic')
    return { 'anthropic-version': '2023-06-01', ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }) };
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

async function textIn(answer: Answer): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer.chunks) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES)
      throw new ModelError(`the list of models is longer than ${MAX_BODY_BYTES} bytes`, { kind: 'stream' });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function modelsIn(body: Loose): readonly ListedModel[] {
  const known = new Set<string>();
  return [...listOf(body.data), ...listOf(body.models)].flatMap((each) => {
    const model = modelOf(recordOf(each));
    if (model === undefined || known.has(model.id)) return [];
    known.add(model.id);
    return [model];
  });
}

function modelOf(entry: Loose): ListedModel | undefined {
  // Gemini lists its models by their resource names, and takes them without the collection.
  const id = (textOf(entry.id) || textOf(entry.name)).replace(/^models\//, '');
  if (id === '') return undefined;
  const name = textOf(entry.display_name) || textOf(entry.name);
  return {
    id,
    displayName: name === '' || name.replace(/^models\//, '') === id ? null : name,
    contextWindow: windowOf(entry),
    modalities: modalitiesOf(entry),
  };
}

const WINDOW_MEMBERS = ['context_length', 'context_window', 'max_context_length', 'max_model_len', 'max_input_tokens'];

function windowOf(entry: Loose): number | null {
  return WINDOW_MEMBERS.map((name) => countOf(entry[name])).find((tokens) => tokens > 0) ?? null;
}

const MODALITIES = ['text', 'image', 'audio'] as const;

function modalitiesOf(entry: Loose): ListedModel['modalities'] {
  const architecture = recordOf(entry.architecture);
  const named = [...listOf(architecture.input_modalities), ...listOf(entry.input_modalities)];
  if (named.length > 0) return MODALITIES.filter((each) => each === 'text' || named.includes(each));
  const { vision } = recordOf(entry.capabilities);
  if (typeof vision === 'boolean') return vision ? ['text', 'image'] : ['text'];
  return null;
}
