// The types of the provider libraries, taken from one of them: they share a model interface but export no name for it here.

import type { createOpenAICompatible } from '@ai-sdk/openai-compatible';

type LibraryModel = ReturnType<ReturnType<typeof createOpenAICompatible>['chatModel']>;

export type LibraryCall = Parameters<LibraryModel['doStream']>[0];
export type LibraryPrompt = LibraryCall['prompt'];
export type LibraryMessage = LibraryPrompt[number];
export type LibraryStream = Awaited<ReturnType<LibraryModel['doStream']>>['stream'];
export type LibraryPart = LibraryStream extends ReadableStream<infer Part> ? Part : never;
