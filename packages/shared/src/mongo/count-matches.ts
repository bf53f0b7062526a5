import type { Model, PipelineStage } from 'mongoose';

/** The number of documents that pass the stages of a pipeline. */
export const countMatches = async <Document>(
  model: Model<Document>,
  stages: readonly PipelineStage[],
): Promise<number> => {
  const [counted] = await model.aggregate<{ total: number }>([...stages, { $count: 'total' }]);
  return counted?.total ?? 0;
};
