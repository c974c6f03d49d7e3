import fc from 'fast-check';

/** All properties of a run use the same seed. A property that fails prints the seed and the path to its case. */
fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED) });
