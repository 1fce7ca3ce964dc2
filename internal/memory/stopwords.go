package memory

import "strings"

// stopWords are words of questions that tell memories apart by chance only. They are
// looked for all the same where a query has no others.
var stopWords = func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(`
		a an and any are as at be by can could did do does for from had has have he her his how i in is it its me my of or our
		she should so that the their them there they this to us was we were what when where which who whom whose why will with would you your
		什么 怎么 怎样 哪里 哪个 哪些 哪天 多少 是否 可以 一个 我的 你的 他的 她的 我们 他们 是什 么时 时候 是哪 在哪 的是`) {
		out[w] = true
	}
	return out
}()
