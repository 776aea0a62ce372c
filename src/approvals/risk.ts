// What a yes to a question puts at risk, for people and for clients that warn them.

import type { Proposal } from '../model/approval.ts';

export interface Risk {
  /** `none`: a yes lets nothing happen; `low`: what happens is held by the sandbox or the workspace; `high`: by nothing. */
  readonly level: 'none' | 'low' | 'high';
  /** In words for people. */
  readonly text: string;
}

const UNHELD = 'it may do all that the user of the server may: change any file, read secrets, use the network';

const COMMAND = {
  sandboxed: { level: 'low', text: 'it runs inside the sandbox of the thread' },
  bare: { level: 'high', text: `it runs outside the sandbox: ${UNHELD}` },
  unavailable: { level: 'high', text: `this host has no sandbox: ${UNHELD}` },
} as const;

export function riskOf(proposal: Proposal): Risk {
  switch (proposal.kind) {
    case 'command':
      return proposal.sandbox === 'sandboxed' && proposal.permissions
        ? { level: 'high', text: 'it may do more than the sandbox of the thread allows: see what it would be given' }
        : COMMAND[proposal.sandbox];
    case 'terminalInput':
      return proposal.sandbox === 'sandboxed' && proposal.hasMore
        ? { level: 'high', text: 'the command that reads it may do more than the sandbox of the thread allows' }
        : COMMAND[proposal.sandbox];
    case 'fileChange':
      return proposal.sandbox === 'sandboxed'
        ? { level: 'low', text: 'files of the workspace change' }
        : { level: 'high', text: `files change that the thread may not change without a yes: ${proposal.rule}` };
    case 'permissions':
      return { level: 'high', text: 'commands and patches that follow may do this without another question' };
    case 'mcpToolCall':
      return { level: 'high', text: 'the server of the tool does what it does, outside of the sandbox' };
    case 'elicitation':
      return { level: 'high', text: 'the server that asks does with the answer what it does, outside of the sandbox' };
    case 'userInput':
      return { level: 'none', text: 'an answer lets nothing happen by itself; the model is told what it says' };
  }
}
