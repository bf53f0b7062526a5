/** Turns a response into its data or an error. */
import { toApiError } from './errors.ts';

interface Outcome {
  data?: unknown;
  error?: unknown;
  response: Response;
}

/** Resolves with the data of a successful response. Rejects with an `ApiError` for any other. */
export const unwrap = async <Given extends Outcome>(
  answer: Promise<Given>,
): Promise<Exclude<Given['data'], undefined>> => {
  const { data, error, response } = await answer;
  if (!response.ok) throw toApiError(response, error);
  return data as Exclude<Given['data'], undefined>;
};
