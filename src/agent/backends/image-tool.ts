// The tool with which the model looks at an image: what the model is told about it, and how a call of it is made.

import { z } from 'zod';
import { schema } from '../../model/schema.ts';
import type { ToolSpec } from '../models/client.ts';
import { failed, readArguments, type Tool } from './tool.ts';

export const IMAGE_TOOL = 'view_image';

const imageToolSpec: ToolSpec = {
  name: IMAGE_TOOL,
  description: 'Shows you an image of the file system: PNG, JPEG, GIF or WebP. For text, read the file instead.',
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Of the image; relative to the working folder of the thread, or absolute.' },
    },
    required: ['path'],
    additionalProperties: false,
  },
};

const ImageArguments = schema(() => z.object({ path: z.string().min(1) }));

export const imageTool: Tool = {
  spec: imageToolSpec,
  async run(call, _turn, tools) {
    const read = readArguments(IMAGE_TOOL, ImageArguments(), call.arguments);
    if ('problem' in read) return failed(read.problem);
    const result = await tools.viewImage(call.callId, read.given.path);
    if (result.kind === 'problem') return failed(result.problem);
    return { output: '', success: true, content: [{ type: 'image', url: result.url }] };
  },
};
