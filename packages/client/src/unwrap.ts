/** Turns a response into its data or an error. */
import { toApiError } from './errors.ts';

interface Outcome {
  data?: unknown;
  error?: unknown;
  response: Response;
}

/** Resolves with the data of a successful response. Rejects with an `ApiError` for any other. */
export const unwrap = async <Result extends Outcome>(
  answer: Promise<Result>,
): Promise<Exclude<Result['data'], undefined>> => {
  const { data, error, response } = await answer;
  if (!response.ok) throw toApiError(response, error);
  return data as Exclude<Result['data'], undefined>;
};
