// Follows requests through everything that is asynchronous, as agents of monitoring do: node --require.
const hooks = require('async_hooks');

const contexts = new Map();
hooks.createHook({
	init(id, type, trigger) {
		const parent = contexts.get(trigger) || { spans: [] };
		contexts.set(id, { type, parent, spans: parent.spans, began: process.hrtime() });
	},
	before(id) {
		const context = contexts.get(id);
		if (context)
			context.entered = process.hrtime();
	},
	after(id) {
		const context = contexts.get(id);
		if (context)
			context.left = process.hrtime(context.entered);
	},
	destroy(id) {
		contexts.delete(id);
	},
}).enable();
