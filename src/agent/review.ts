// A review: what the reviewer is told, and what people are told of its answer.

import type { Backend, BackendEvent } from './backend.ts';
import { listOf, numberOf, parseLoosely, recordOf, textOf } from './models/loose.ts';

export type ReviewTarget =
  | { readonly type: 'uncommittedChanges' }
  | { readonly type: 'baseBranch'; readonly branch: string }
  | { readonly type: 'commit'; readonly sha: string; readonly title: string | null }
  | { readonly type: 'custom'; readonly instructions: string };

export const REVIEW_INSTRUCTIONS = `You review code that somebody else has changed. Read the change and as much around it as you need; you may run commands that read, and you change nothing.

Report what the author would want to mend before it is merged: wrong results, lost data, security holes, races, broken callers, missing handling of failures, tests that prove nothing. Each finding stands for itself, names the line where it shows, says which input or state leads to it, and was caused by this change. Leave out style, wishes, and what you only suspect. No findings is a good review.

Answer with one JSON object and nothing around it:
{"findings": [{"title": "one line", "body": "what goes wrong, when, and what to do", "priority": 0, "code_location": {"absolute_file_path": "/path", "line_range": {"start": 1, "end": 1}}}], "overall_correctness": "patch is correct", "overall_explanation": "two or three sentences", "overall_confidence_score": 0.5}
"priority" goes from 0 (must be mended at once) to 3 (small). "overall_correctness" is "patch is correct" or "patch is incorrect".`;

/** What is reviewed, in a few words for people. */
export function hintOf(target: ReviewTarget): string {
  switch (target.type) {
    case 'uncommittedChanges':
      return 'current changes';
    case 'baseBranch':
      return `changes against '${target.branch}'`;
    case 'commit': {
      const sha = target.sha.slice(0, 7);
      return target.title ? `commit ${sha}: ${target.title}` : `commit ${sha}`;
    }
    case 'custom':
      return target.instructions.trim();
  }
}

/** What the reviewer is asked. */
export function questionOf(target: ReviewTarget): string {
  switch (target.type) {
    case 'uncommittedChanges':
      return 'Review what is changed in this repository and not committed: staged, unstaged and new files.';
    case 'baseBranch':
      return `Review what the present branch adds to the branch ${target.branch}: everything since the two parted (git merge-base HEAD ${target.branch}).`;
    case 'commit':
      return `Review what the commit ${target.sha} changes${target.title ? ` ("${target.title}")` : ''}.`;
    case 'custom':
      return target.instructions.trim();
  }
}

/** A backend whose words are kept for the end instead of being shown; what it thinks and does is reported as always. */
export function quiet(backend: Backend): { readonly backend: Backend; readonly words: () => string } {
  let words = '';
  const isShown = (event: BackendEvent): boolean => {
    if (event.type === 'messageCompleted') words = event.text;
    return !['messageStarted', 'text', 'messageCompleted', 'contextAdded'].includes(event.type);
  };
  return {
    backend: {
      ...backend,
      async *run(turn, tools, signal) {
        for await (const events of backend.run(turn, tools, signal)) {
          const shown = events.filter(isShown);
          if (shown.length > 0) yield shown;
        }
      },
    },
    words: () => words,
  };
}

/** The review as text: the reviewer's judgement and findings, or its words as they are where they have another form. */
export function reviewText(answer: string): string {
  const parsed = parseLoosely(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1));
  const review = recordOf(parsed);
  const explanation = textOf(review.overall_explanation).trim();
  const findings = listOf(review.findings).map(findingText);
  const text = [explanation, ...findings].filter((part) => part !== '').join('\n\n');
  return text || answer.trim() || 'The reviewer had nothing to say.';
}

function findingText(value: unknown): string {
  const finding = recordOf(value);
  const place = recordOf(finding.code_location);
  const range = recordOf(place.line_range);
  const lines =
    numberOf(range.start) > 0 ? `:${numberOf(range.start)}-${numberOf(range.end) || numberOf(range.start)}` : '';
  const path = textOf(place.absolute_file_path);
  const title = textOf(finding.title).trim();
  const body = textOf(finding.body).trim().replaceAll('\n', '\n  ');
  if (title === '' && body === '') return '';
  const priority = typeof finding.priority === 'number' ? `[P${finding.priority}] ` : '';
  return `- ${priority}${title}${path === '' ? '' : ` (${path}${lines})`}${body === '' ? '' : `\n  ${body}`}`;
}
