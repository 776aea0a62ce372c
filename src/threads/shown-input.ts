// Input as the model is shown it: images of files and words of skills as they are when it is accepted, and words in the place of
// what is no image.

import { isAppError } from '../base/errors.ts';
import { isBelow, isInside, realPathOf } from '../fs/containment.ts';
import { type IsDenied, isDeniedWay } from '../fs/denials.ts';
import { readImage } from '../fs/image-file.ts';
import { checkedImageUrl } from '../model/image.ts';
import type { UserInput } from '../model/input.ts';
import type { Skills } from '../skills/catalogue.ts';
import type { SteerInput } from './turn-start.ts';

export interface InputReach {
  /** Folders below which remote people may name files. */
  readonly remoteRoots: () => Promise<readonly string[]>;
  /** What they may not touch of it either; undefined: nothing. */
  readonly remoteDenials: () => Promise<IsDenied | undefined>;
  /** What remote people never see. */
  readonly tools: { readonly hidden: readonly string[] };
  readonly skills: Pick<Skills, 'shown'>;
}

/** Characters of the images of one input: more than one request to a provider may hold, and bounded however often a file is named. */
const MAX_IMAGES = 32 * 1024 * 1024;

/** The input of a turn with what stands beside it; undefined: it is shown as it is. `folder` as below. */
export async function shownOfTurn(
  { input, isCapped, beside = [] }: SteerInput,
  reach: InputReach,
  folder: string | undefined,
): Promise<UserInput[] | undefined> {
  const shown = await shownInput(input, isCapped, reach, folder);
  return beside.length === 0 ? shown : [...beside, ...(shown ?? input)];
}

/**
 * Undefined: it is shown as it is. `isCapped`: from somebody whom the operator's ceiling holds; `folder`: where the thread works,
 * if it works anywhere.
 */
export async function shownInput(
  given: readonly UserInput[],
  isCapped: boolean,
  reach: InputReach,
  folder?: string,
): Promise<UserInput[] | undefined> {
  const named = await reach.skills.shown(given, folder, { isLocal: !isCapped });
  const input = named ?? given;
  if (!input.some(({ type }) => type === 'image' || type === 'localImage')) return named && [...named];
  const shown: UserInput[] = [];
  let left = MAX_IMAGES;
  for (const part of input) {
    const image = left > 0 ? await shownPart(part, isCapped, reach) : withoutImage(part);
    if (image.type === 'image') left -= image.url?.length ?? 0;
    shown.push(image);
  }
  return shown;
}

async function shownPart(part: UserInput, isCapped: boolean, reach: InputReach): Promise<UserInput> {
  if (part.type === 'localImage') return fromFile(part, isCapped, reach);
  return part.type === 'image' ? checked(part) : part;
}

function withoutImage(part: UserInput): UserInput {
  if (part.type !== 'localImage' && part.type !== 'image') return part;
  return inWords('[an image that cannot be shown: those before it are as much as one message may hold]');
}

type Part<T extends UserInput['type']> = Extract<UserInput, { type: T }>;

function checked(part: Part<'image'>): UserInput {
  if (part.url === undefined) return part;
  const image = checkedImageUrl(part.url);
  return 'url' in image ? { ...part, url: image.url } : inWords(`[an image that cannot be shown: ${image.problem}]`);
}

async function fromFile(part: Part<'localImage'>, isCapped: boolean, reach: InputReach): Promise<UserInput> {
  const mayRead = async (real: string) => !isCapped || (await isOpen(real, part.path, reach));
  try {
    return { type: 'image', url: await readImage(part.path, mayRead), detail: part.detail };
  } catch (error) {
    if (!isAppError(error)) throw error;
    return inWords(`[the image ${part.path} cannot be shown: ${error.message}]`);
  }
}

/** `called`: as it was named, with its links. */
async function isOpen(real: string, called: string, reach: InputReach): Promise<boolean> {
  const { remoteRoots, remoteDenials, tools } = reach;
  const denies = await remoteDenials();
  if (denies && (denies(real) || (await isDeniedWay(called, denies, 'target')))) return false;
  const covers = await Promise.all(tools.hidden.map((path) => realPathOf(path).catch(() => path)));
  return !covers.some((path) => isInside(real, path)) && (await isBelow(real, await remoteRoots()));
}

const inWords = (text: string): UserInput => ({ type: 'text', text, text_elements: [] });
