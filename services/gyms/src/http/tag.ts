/** The group of these routes in the OpenAPI document. */
export const TAG = 'Gyms';
