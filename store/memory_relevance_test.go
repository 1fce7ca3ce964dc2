package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"picobot/internal/memory"
)

// remembered is what one person told over the months, in the languages of the people
// who use PicoBot.
var remembered = []struct{ namespace, key, content string }{
	{"profile", "name", "The user's name is Wei Zhang; friends call him Wei."},
	{"profile", "birthday", "Born on 3 May 1990."},
	{"profile", "生日", "用户的生日是5月3日，喜欢在家里过。"},
	{"profile", "employer", "Works as a site reliability engineer at Northwind."},
	{"profile", "家庭住址", "住在上海市徐汇区，地铁十一号线旁边。"},
	{"profile", "languages", "Speaks Mandarin and English, learns Japanese on weekends."},
	{"family", "daughter", "Daughter Mia, eight years old, plays the violin."},
	{"family", "妻子", "妻子叫李娜，是小学老师，对花粉过敏。"},
	{"family", "parents", "Parents live in Chengdu and visit every October."},
	{"family", "dog", "The dog is a corgi called Biscuit."},
	{"preferences", "coffee", "Drinks flat white without sugar, never after 3 pm."},
	{"preferences", "口味", "喜欢川菜，特别能吃辣，不吃香菜。"},
	{"preferences", "allergies", "Allergic to peanuts and shrimp."},
	{"preferences", "music", "Listens to jazz while coding, mostly Bill Evans."},
	{"preferences", "回复语言", "工作的事用英文回复，其他用中文。"},
	{"preferences", "editor", "Uses Neovim with the gopls language server; dislikes tabs of eight."},
	{"preferences", "meetings", "Prefers meetings in the morning, none on Fridays."},
	{"preferences", "座位", "坐飞机要靠窗的座位，坐高铁要靠过道。"},
	{"work", "deploy", "Production deploys happen on Tuesdays at 10:00 through Argo CD."},
	{"work", "飞书机器人", "飞书机器人的回调地址在网关后面，改动前要先通知运维。"},
	{"work", "gateway", "The gateway listens on port 19876; its token is rotated monthly."},
	{"work", "数据库备份", "数据库每天凌晨两点备份到对象存储，保留三十天。"},
	{"work", "oncall", "On call every third week; the pager is PagerDuty."},
	{"work", "周报", "每周五下午四点前把周报发给王经理。"},
	{"work", "kubernetes", "Runs three Kubernetes clusters: staging, prod-eu and prod-cn."},
	{"work", "code review", "Wants small pull requests, at most 300 lines each."},
	{"work", "会议室", "三楼的大会议室要提前两天预订。"},
	{"projects", "picobot", "Builds a chat agent in Go named PicoBot, with Temporal and SQLite."},
	{"projects", "garden", "Grows tomatoes and basil on the balcony; waters them at dusk."},
	{"projects", "马拉松", "正在准备十一月的上海马拉松，目标是四小时以内完赛。"},
	{"projects", "house", "Looking for a flat with three rooms near a good school."},
	{"travel", "japan", "Trip to Kyoto planned for April, hotel near Gion booked."},
	{"travel", "护照", "护照二〇二七年八月到期，需要提前半年换发。"},
	{"travel", "luggage", "Travels with hand luggage only, a 40 litre backpack."},
	{"health", "running", "Runs ten kilometres on Sundays; left knee hurts on hills."},
	{"health", "牙医", "每半年去看一次牙医，下一次在九月。"},
	{"health", "medicine", "Takes vitamin D in winter and an antihistamine in spring."},
	{"finance", "budget", "Monthly budget for eating out is 2000 yuan."},
	{"finance", "保险", "车险每年六月续保，公司是平安。"},
	{"misc", "ｗｉ－ｆｉ", "Ｇｕｅｓｔ network password is on the fridge."},
}

func remember(t testing.TB, s memoryStore, scope string) {
	t.Helper()
	for _, m := range remembered {
		_, _, err := s.PutMemory(t.Context(), scope, memory.Name{Namespace: m.namespace, Key: m.key}, m.content)
		require.NoError(t, err)
	}
}

// What a person asks, and the memory that answers it.
func TestSearchMemories_Relevance(t *testing.T) {
	s := open(t)
	remember(t, s, "cli:wei")
	for query, first := range map[string]string{
		// one- and two-character words of Chinese
		"辣": "口味", "生日": "生日", "飞书": "飞书机器人", "会议": "会议室", "护照": "护照", "妻子": "妻子", "猫": "",
		"备份": "数据库备份", "川菜": "口味", "牙": "牙医", "车险": "保险", "花粉": "妻子",
		// longer ones and questions
		"飞书机器人": "飞书机器人", "机器人": "飞书机器人", "数据库什么时候备份": "数据库备份", "我的生日是哪一天": "生日", "我喜欢吃什么菜": "口味",
		"周报要发给谁": "周报", "马拉松的目标是什么": "马拉松", "靠窗座位": "座位", "他住在哪里？": "家庭住址", "用什么语言回复": "回复语言", "护照什么时候到期": "护照",
		// English words, questions, other forms of a word
		"birthday": "birthday", "peanut": "allergies", "allergies": "allergies", "what is the dog called": "dog", "coffee order": "coffee",
		"when do we deploy to production": "deploy", "deploying": "deploy", "which editor does he use": "editor", "port of the gateway": "gateway",
		"Kubernetes clusters": "kubernetes", "pull request size": "code review", "hotel in kyoto": "japan", "knee": "running", "violin": "daughter",
		"where do his parents live": "parents", "jazz": "music", "tomatoes": "garden", "who does he work for": "employer", "on-call schedule": "oncall",
		// mixed, case, width
		"飞书 webhook 回调": "飞书机器人", "PICOBOT": "picobot", "ＰｉｃｏＢｏｔ": "picobot", "temporal sqlite": "picobot", "wi-fi": "ｗｉ－ｆｉ", "guest 密码": "ｗｉ－ｆｉ",
		"NEOVIM": "editor", "Argo": "deploy", "prod-cn": "kubernetes", "19876": "gateway", "5月3日": "生日",
		// nothing to look for, nothing there
		"？！": "", "": "", "quantum chromodynamics": "",
	} {
		hits, err := s.SearchMemories(t.Context(), "cli:wei", "", query, 5)
		require.NoError(t, err, query)
		if first == "" {
			require.Empty(t, hits, query)
			continue
		}
		var keys []string
		for _, h := range hits {
			keys = append(keys, h.Key)
		}
		if len(keys) == 0 || keys[0] != first {
			t.Errorf("%q: want %s first, got %q", query, first, keys)
		}
	}
}
