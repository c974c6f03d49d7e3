import fc from 'fast-check';

/** Every property of a run begins with the run's seed; one that fails prints it with the way to its case. */
fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED) });
