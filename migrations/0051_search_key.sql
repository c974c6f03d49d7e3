-- The text in which customers are searched, without what people leave out: apostrophes, dots, hyphens, and letters such as đ and ł. The
-- same as searchKey in src/customers/rules.ts, and a test compares them. An index on this function also has the rows that earlier
-- versions write while both versions run, so no column has to be filled.
create function search_key(text) returns text language sql immutable parallel safe strict
  return replace(replace(replace(
    translate($1,
      ',;/()' || 'ƀɓđðɖɗɇǝəɛƒǥɠɣħɨɩɪƙłɲŋøɔɵɍŧƭʉʊʋƴƶ'
        || E'\u0027\u0060\u00b4\u02b9\u02ba\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\u055a\u2018\u2019\u201a\u201b\u2032\u2035\ua78b\ua78c\u0022\u201c\u201d\u201e\u002e\u00b7\u2022\u2024\u002d\u2010\u2011\u2012\u2013\u2014\u2015\u2212',
      '     ' || 'bbddddeeeefggghiiiklnnooorttuuvyz'),
    'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
