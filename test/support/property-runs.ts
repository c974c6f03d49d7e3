/**
 * How many random cases a property test tries. All runs of `npm test` try the same cases, so more of them find nothing new.
 * `npm run test:all` tries twice as many, and `npm run test:properties` a thousand new cases.
 */
export const PROPERTY_RUNS = Number(process.env.PROPERTY_RUNS ?? 25);
